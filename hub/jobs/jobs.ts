import { type Clock, HubError, createEmitter, waitAtMost } from '#core';
import { type Job, type JobError, type JobLine, parseJob } from './job.ts';
import { type ShownNeeds, createShown } from './shown.ts';

/** The jobs of the hub. All texts are redacted before they are stored or shown. */
export type Jobs = ReturnType<typeof createJobs>;

export type JobRequest = {
  readonly kind: string;
  readonly title: string;
  readonly principal: string;
  readonly cancel: Cancel;
};

/** Cancels the work, which must then end the job with an error. May be called several times. */
type Cancel = (reason: HubError) => void;

/** Continues the work of a job of an earlier run. Must not throw: to fail, it calls `open.failed`. */
type Resume = (job: Job, open: OpenJob) => Cancel;

/** Handle for the code that does the work of a job. Calls after the end have no effect. */
export interface OpenJob {
  readonly id: string;
  /** Adds an output line. The first line of each step becomes the progress, which every caller may read. */
  report(line: JobLine): void;
  done(result: Readonly<Record<string, unknown>>): void;
  /**
   * Ends the job with an error. The state is `cancelled` after HUB_CALL_CANCELLED, `interrupted` after
   * HUB_SHUTTING_DOWN, otherwise `failed`. HUB_SHUTTING_DOWN does not end a job of a resumable kind: the next run of
   * the hub resumes it.
   */
  failed(error: unknown): void;
}

export type JobsNeeds = ShownNeeds & {
  readonly clock: Clock;
  readonly newId: () => string;
  /** Opens the journal that stores jobs for the next run; `snapshot` returns the current ones. Absent: no storage. */
  readonly openJournal?: (snapshot: () => readonly object[]) => JobJournal;
};

type JobJournal = {
  open(): Promise<readonly unknown[]>;
  append(record: object): Promise<boolean>;
  close(): Promise<void>;
};

/** Maximum number of stored jobs. The oldest ended job is removed first; running jobs are never removed. */
export const maxJobs = 20;
/** Maximum number of lines per job. The oldest are removed first. */
const maxLines = 300;
const cancelWaitMs = 5_000;

type JobRecord = {
  job: Job;
  readonly lines: JobLine[];
  cancel: Cancel;
  readonly ended: PromiseWithResolvers<void>;
};

export function createJobs(needs: JobsNeeds) {
  const { clock, newId } = needs;
  const shown = createShown({ ...needs, log: needs.log.child({ part: 'jobs' }) });
  const { event: changed, fire } = createEmitter<void>();
  /** All jobs by id, the oldest first. */
  const jobs = new Map<string, JobRecord>();
  /** Functions that resume jobs of an earlier run, by kind of job. */
  const resumes = new Map<string, Resume>();
  const journal = needs.openJournal?.(() => [...jobs.values()].map(({ job }) => job));

  function makeRoom(): void {
    for (const [id, { job }] of jobs) {
      if (jobs.size < maxJobs) return;
      if (job.state !== 'running') jobs.delete(id);
    }
  }

  function save(record: JobRecord, job: Job): void {
    record.job = job;
    // Does not reject: the journal logs and retries failed writes.
    void journal?.append(job);
    fire();
  }

  function done(record: JobRecord, result: object): void {
    const { job } = record;
    if (job.state !== 'running') return;
    save(record, { ...job, state: 'done', endedAt: clock.now(), result: shown.result(result) });
    record.ended.resolve();
  }

  function failed(record: JobRecord, cause: unknown): void {
    const { job } = record;
    if (job.state !== 'running') return;
    const error = shown.error(job.id, cause);
    const state = stateAfter(error);
    if (state === 'interrupted' && resumes.has(job.kind)) return;
    save(record, { ...job, state, endedAt: clock.now(), error });
    record.ended.resolve();
  }

  function add(job: Job, cancel: Cancel): JobRecord {
    const record: JobRecord = { job, lines: [], cancel, ended: Promise.withResolvers() };
    jobs.set(job.id, record);
    return record;
  }

  const openJob = (record: JobRecord): OpenJob => ({
    id: record.job.id,
    report(written) {
      const { job, lines } = record;
      if (job.state !== 'running') return;
      const line = shown.line(written);
      lines.push(line);
      if (lines.length > maxLines) lines.shift();
      if (job.progress?.step === line.step) fire();
      else save(record, { ...job, progress: line });
    },
    done: result => done(record, result),
    failed: error => failed(record, error),
  });

  function restore(job: Job): void {
    const record = add(job, () => {});
    if (job.state !== 'running') return;
    const resume = resumes.get(job.kind);
    if (resume) record.cancel = resume(job, openJob(record));
    else save(record, { ...job, state: 'interrupted', endedAt: undefined, error: interruption });
  }

  function get(id: string): JobRecord {
    const record = jobs.get(id);
    if (record) return record;
    throw new HubError(
      'HUB_JOB_UNKNOWN',
      `no job ${JSON.stringify(id.slice(0, 60))} is kept: "agenthub jobs" lists the newest ${maxJobs}`,
    );
  }

  return {
    /** Fires after each output line and each change of a job's state. */
    changed,
    /** All stored jobs, newest first. */
    list: (): readonly Job[] => [...jobs.values()].map(({ job }) => job).reverse(),
    find: (id: string): Job | undefined => jobs.get(id)?.job,
    /** Returns a job. Throws HUB_JOB_UNKNOWN. */
    get: (id: string): Job => get(id).job,
    /** Returns the newest output lines in this run of the hub. Owner only: they come from servers and installers. */
    linesOf: (id: string): readonly JobLine[] => [...(jobs.get(id)?.lines ?? [])],
    /** Creates a running job. The caller does the work, reports its progress and must end it. */
    begin({ kind, title, principal, cancel }: JobRequest): OpenJob {
      makeRoom();
      const job: Job = {
        id: newId(),
        kind,
        title: shown.title(title),
        principal,
        startedAt: clock.now(),
        state: 'running',
      };
      const record = add(job, cancel);
      save(record, job);
      return openJob(record);
    },
    /** Makes a kind of job resumable: `start` passes each unfinished job to `resume`. Call this before `start`. */
    onResume: (kind: string, resume: Resume): void => void resumes.set(kind, resume),
    /** Cancels a job and waits up to 5 s for its end; slow work may still run then. Rejects with HUB_JOB_UNKNOWN. */
    async cancel(id: string): Promise<Job> {
      const record = get(id);
      if (record.job.state === 'running') {
        record.cancel(new HubError('HUB_CALL_CANCELLED', 'it was cancelled'));
        await waitAtMost(cancelWaitMs, record.ended.promise, clock);
      }
      return record.job;
    },
    /** Reads the jobs of earlier runs. Resumes unfinished ones, or marks them `interrupted` if not resumable. */
    async start(): Promise<void> {
      const read = new Map<string, Job>();
      for (const record of (await journal?.open()) ?? []) {
        const job = parseJob(record);
        if (job) read.set(job.id, job);
      }
      for (const [id, { state }] of read) {
        if (read.size <= maxJobs) break;
        if (state !== 'running') read.delete(id);
      }
      for (const job of read.values()) restore(job);
    },
    async stop(): Promise<void> {
      const error = new HubError('HUB_SHUTTING_DOWN', interruption.message);
      for (const record of jobs.values()) {
        if (record.job.state !== 'running') continue;
        record.cancel(error);
        failed(record, error);
      }
      await journal?.close();
    },
  };
}

const interruption: JobError = {
  code: 'HUB_SHUTTING_DOWN',
  message: 'the hub stopped while it ran. Begin it again',
};

function stateAfter({ code }: JobError): 'failed' | 'cancelled' | 'interrupted' {
  if (code === 'HUB_CALL_CANCELLED') return 'cancelled';
  return code === 'HUB_SHUTTING_DOWN' ? 'interrupted' : 'failed';
}
