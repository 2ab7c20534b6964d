// Package pulls brings objects from one node to another. The daemon of each node has a Pulls. It finds out where an object is, gets
// room for it in the node's store, reads it in chunks from a node that has it, and serves other nodes in the same way.
//
// # Who knows what
//
// The daemon of the node on which an object's owner runs has the directory of the object (package dir). A node that makes
// an object for an owner elsewhere tells that node (Made) before the writer gets its room. So the news is there before a reply that the writer
// sends over the same link. A node also says when the object is whole (Sealed), when it is lost (Lost), and when it has read the object itself.
// The owner's node says when the object is freed, when a newer version has taken its place, and when a replica has become the
// primary. A node keeps a row (held) for each object that other nodes know of. It has none for objects that only its own processes know:
// on one machine all tables are empty, and each method ends after one comparison.
//
// # A pull
//
// A pull begins when a process pins an object that is elsewhere (Want), and serves all who want it. It asks where the object is; gets
// admitted; gets room from the store; and reads. At most a quarter of the arena and 16 objects are admitted at a time, those for which a program
// waits before arguments and before what is only fetched early. When admission or room takes a while, the pull gives its place at the holder
// to others meanwhile, and asks again later.
//
// Up to four streams read chunks of 8 MiB, each over a bulk connection of its own, straight into the arena. (If the store had to
// give a file in place of memory, they write to the file.) The owner's node names up to four holders, and the streams are spread over them. Each chunk
// has a CRC-32C. A stream asks for the next chunk while one is on its way.
//
// When a connection breaks, says nothing for 5 s, brings a wrong checksum, or its holder does not have the object, the stream goes on with the next holder,
// and whichever stream is free takes the chunks that it had asked for. A stream that has nothing to do also takes over the chunks of a much slower holder.
// When no holder is left, the pull asks again where the object is, says from whom it could not read, and goes on with
// what is missing. It tries until the object has come, is lost or freed, or nobody waits for it. Pauses grow up to 2 s.
//
// The object is then sealed as a replica: the store does not write it to disk when it needs room, but asks the owner's node whether
// the replica may be dropped (MayDrop).
//
// # Serving
//
// Serve answers requests for chunks. It holds the object in the store while it is being read, and sends it from the arena or from the file in which it
// lies. An object that is on disk only is sent from its copy there, unless that is compressed: then the store brings it back (ondisk.go). A chunk is compressed where that saves time
// (packing.go). From an object that is still being pulled it sends the chunks that are there and waits for the others. So a
// large object goes through a chain of nodes in little more than the time of one transfer. While a chunk is awaited, the other node is told each second that this
// one lives.
//
// # What is checked
//
// A message may concern only objects whose owner is on the right node, and names at most linkmsg.MaxObjects. Requests and answers on bulk
// connections have fixed sizes, a magic number and caps, and must lie within the object. Room for an object comes before anything that
// grows with its size.
//
// # Locks and goroutines
//
// The lock of Options, which is the daemon's, guards Pulls, its directory and the store. The methods that the daemon calls for its processes want it held;
// Handle, Serve, NodeGone and Close take it themselves. Nothing waits for a connection with the lock held: each stream has a
// goroutine of its own, and Network.Control and a push do not wait. A pull is the holder of its room (objects.Holder), and gives it up
// when its last stream, and the last connection that copies from it, has ended. A bulk connection that is served is the holder of what it sends.
// Close waits for all goroutines.
package pulls
