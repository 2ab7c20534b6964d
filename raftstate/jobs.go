package raftstate

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// keepJob enters a job in the tables.
func (m *Machine) keepJob(j *record.Job) {
	m.jobs[j.ID] = j
	if j.Driver != (ids.Owner{}) {
		m.drivers[j.Driver] = j.ID
	}
}

// forgetJob is the inverse of keepJob.
func (m *Machine) forgetJob(id ids.Job) {
	if j := m.jobs[id]; j != nil && m.drivers[j.Driver] == id {
		delete(m.drivers, j.Driver)
	}
	delete(m.jobs, id)
}

// putJob stores a changed job and tells of it.
func (m *Machine) putJob(j *record.Job) {
	m.keepJob(j)
	m.emit(record.Event{Kind: record.JobEvent, Job: j})
}

func (b *JobStart) kind() Kind      { return KindJobStart }
func (b *JobStart) subject() string { return fmt.Sprintf("job %q", b.Job.Entrypoint) }
func (b *JobStart) check() error    { return nil }

func (b *JobStart) apply(m *Machine) Result {
	j := b.Job
	if id, again := m.drivers[j.Driver]; again {
		return Result{Job: id}
	}
	m.lastJob++
	j.ID = ids.JobOf(m.lastJob)
	j.State, j.Message, j.EndedMs = record.JobRunning, "", 0
	m.putJob(&j)
	return Result{Job: j.ID}
}

func (b *JobEnd) kind() Kind      { return KindJobEnd }
func (b *JobEnd) subject() string { return "job " + b.ID.String() }
func (b *JobEnd) check() error {
	if b.State != record.JobFinished && b.State != record.JobLost {
		return fmt.Errorf("a job cannot end in state %q", b.State)
	}
	return nil
}

func (b *JobEnd) apply(m *Machine) Result {
	old := m.jobs[b.ID]
	switch {
	case old == nil:
		return Result{Outcome: NotFound}
	case old.State != record.JobRunning:
		return Result{}
	}
	j := *old
	j.State, j.Message, j.EndedMs = b.State, b.Message, b.AtMs
	if m.hasDetached(j.ID) {
		j.State, j.Leaves = record.JobLeft, b.State
		m.putJob(&j)
		m.groupsLoseJob(&j)
		return Result{}
	}
	m.endJob(&j)
	return Result{}
}

// leaves reports whether what was made for a job ends by now: with the job, or with its driver. What is detached does not, and what is lasting was made for
// a detached actor, so it ends with the job.
func (m *Machine) leaves(id ids.Job, detached, lasting bool) bool {
	job := m.jobs[id]
	return job != nil && job.State != record.JobRunning && !detached && (job.Over() || !lasting)
}

// hasDetached reports whether a detached actor of the job lives.
func (m *Machine) hasDetached(id ids.Job) bool {
	for a := range m.actors.OfJob(id) {
		if a.Detached && a.Live() {
			return true
		}
	}
	return false
}

// endLeftJob ends the job of a detached actor that has died, if its driver has left and that was the last one.
func (m *Machine) endLeftJob(a *record.Actor) {
	old := m.jobs[a.Job]
	if !a.Detached || old == nil || old.State != record.JobLeft || m.hasDetached(a.Job) {
		return
	}
	j := *old
	j.State, j.Leaves = old.Leaves, ""
	m.endJob(&j)
}

// endJob stores a job that is over.
func (m *Machine) endJob(j *record.Job) {
	m.putJob(j)
	m.groupsLoseJob(j)
	var gone ids.Job
	var full bool
	if m.endedJobs, gone, full = appendBounded(m.endedJobs, j.ID, keptEndedJobs); full {
		m.forgetJob(gone)
	}
}
