"""Runtime environments beyond variables and folders: what is asked for, how a node makes it, how a worker gets it.

``checks`` reads what users ask for, and ``wanted`` makes of it what nodes need. A node runs ``worker.making`` to make a
folder: ``virtual`` makes virtual environments, ``archives`` unpacks and downloads. ``arrangement`` gives a zygote the
paths of what was made, and ``setup_hook`` calls what a worker calls first. ``program_hook`` lets a site change what
programs ask for.
"""
