import { type Clock, type Event, type Service, HubError, createEmitter } from '#core';
import { type Job, type JobError, type JobLine, parseJob } from './job.ts';
import { type ShownNeeds, createShown } from './shown.ts';

/**
 * The jobs of the hub. As a part of the app, `start` reads those of earlier runs, where one that was running becomes
 * `interrupted`; `stop` cancels what still runs. All texts are redacted before they are kept or shown.
 */
export interface Jobs extends Service {
  /** All jobs that are kept, newest first. */
  list(): readonly Job[];
  find(id: string): Job | undefined;
  /** Throws HUB_JOB_UNKNOWN. */
  get(id: string): Job;
  /**
   * The newest lines that a job wrote in this run of the hub. They may hold what a server or an installer wrote, so
   * they are for the owner only.
   */
  linesOf(id: string): readonly JobLine[];
  /** Makes a running job. The caller does the work, reports on it and must end it. */
  begin(request: JobRequest): OpenJob;
  /**
   * Cancels a running job and waits up to 5 s for its end. Answers with the job as it is then: still running where
   * the work takes longer or cannot be stopped any more. Rejects with HUB_JOB_UNKNOWN.
   */
  cancel(id: string): Promise<Job>;
  /** Fires with each line and each change of state. */
  readonly changed: Event<void>;
}

export type JobRequest = {
  readonly kind: string;
  readonly title: string;
  /** The name of the principal that begins it. */
  readonly principal: string;
  /** Stops the work, which then ends the job with an error. Called with each request to cancel. */
  readonly cancel: (reason: HubError) => void;
};

/** A job for whoever does its work. Calls after the end have no effect. */
export interface OpenJob {
  readonly id: string;
  /** Tells a line. The first line of a step is the progress that everybody is shown. */
  report(line: JobLine): void;
  done(result: Readonly<Record<string, unknown>>): void;
  /** HUB_CALL_CANCELLED ends it as `cancelled`, HUB_SHUTTING_DOWN as `interrupted`, anything else as `failed`. */
  failed(error: unknown): void;
}

export type JobsNeeds = ShownNeeds & {
  readonly clock: Clock;
  readonly newId: () => string;
  /** Keeps records for the next run of the hub; `snapshot` covers all that count. Absent: jobs end with this run. */
  readonly openJournal?: (snapshot: () => readonly object[]) => JobJournal;
};

type JobJournal = {
  open(): Promise<readonly unknown[]>;
  append(record: object): Promise<boolean>;
  close(): Promise<void>;
};

/** Jobs that are kept. Ended jobs are forgotten first, the oldest before the others; running jobs always stay. */
export const maxJobs = 20;
/** Lines that are kept of each job, the newest. */
const maxLines = 300;
const cancelWaitMs = 5_000;

/** A job, its lines, and how to stop it. */
type JobRecord = {
  job: Job;
  readonly lines: JobLine[];
  readonly cancel: JobRequest['cancel'];
  /** Resolves when the job has ended. */
  readonly ended: PromiseWithResolvers<void>;
};

export function createJobs(needs: JobsNeeds): Jobs {
  const { clock, newId } = needs;
  const shown = createShown({ ...needs, log: needs.log.child({ part: 'jobs' }) });
  const { event: changed, fire } = createEmitter<void>();
  /** In the order in which they began. */
  const jobs = new Map<string, JobRecord>();
  const journal = needs.openJournal?.(() => [...jobs.values()].map(({ job }) => job));

  function makeRoom(): void {
    for (const [id, { job }] of jobs) {
      if (jobs.size < maxJobs) return;
      if (job.state !== 'running') jobs.delete(id);
    }
  }

  function save(record: JobRecord, job: Job): void {
    record.job = job;
    // A failure is in the log, and the journal retries it.
    void journal?.append(job);
    fire();
  }

  function end(
    record: JobRecord,
    outcome: { readonly result: object } | { readonly error: unknown },
  ): void {
    const { job } = record;
    if (job.state !== 'running') return;
    const endedAt = clock.now();
    if ('result' in outcome)
      save(record, { ...job, state: 'done', endedAt, result: shown.result(outcome.result) });
    else {
      const error = shown.error(job.id, outcome.error);
      save(record, { ...job, state: stateAfter(error), endedAt, error });
    }
    record.ended.resolve();
  }

  function get(id: string): JobRecord {
    const record = jobs.get(id);
    if (record) return record;
    throw new HubError(
      'HUB_JOB_UNKNOWN',
      `no job ${JSON.stringify(id.slice(0, 60))} is kept: GET /jobs lists the newest ${maxJobs}`,
    );
  }

  return {
    name: 'jobs',
    changed,
    list: () => [...jobs.values()].map(({ job }) => job).reverse(),
    find: id => jobs.get(id)?.job,
    get: id => get(id).job,
    linesOf: id => [...(jobs.get(id)?.lines ?? [])],
    begin({ kind, title, principal, cancel }) {
      makeRoom();
      const record: JobRecord = {
        job: {
          id: newId(),
          kind,
          title: shown.title(title),
          principal,
          startedAt: clock.now(),
          progress: undefined,
          state: 'running',
        },
        lines: [],
        cancel,
        ended: Promise.withResolvers(),
      };
      const { id } = record.job;
      jobs.set(id, record);
      save(record, record.job);
      return {
        id,
        report(told) {
          const { job, lines } = record;
          if (job.state !== 'running') return;
          const line = shown.line(told);
          lines.push(line);
          if (lines.length > maxLines) lines.shift();
          if (job.progress?.step === line.step) fire();
          else save(record, { ...job, progress: line });
        },
        done: result => end(record, { result }),
        failed: error => end(record, { error }),
      };
    },
    async cancel(id) {
      const record = get(id);
      if (record.job.state === 'running') {
        record.cancel(new HubError('HUB_CALL_CANCELLED', 'it was cancelled'));
        const { promise: tooLong, resolve } = Promise.withResolvers<void>();
        using _ = clock.after(cancelWaitMs, resolve);
        await Promise.race([record.ended.promise, tooLong]);
      }
      return record.job;
    },
    async start() {
      const read = new Map<string, Job>();
      for (const record of (await journal?.open()) ?? []) {
        const job = parseJob(record);
        if (job) read.set(job.id, job);
      }
      for (const job of [...read.values()].slice(-maxJobs)) {
        const ended = Promise.withResolvers<void>();
        ended.resolve();
        const record: JobRecord = { job, lines: [], cancel: () => {}, ended };
        jobs.set(job.id, record);
        if (job.state === 'running')
          save(record, { ...job, state: 'interrupted', endedAt: undefined, error: interruption });
      }
    },
    async stop() {
      const error = new HubError('HUB_SHUTTING_DOWN', interruption.message);
      for (const record of jobs.values()) {
        if (record.job.state !== 'running') continue;
        record.cancel(error);
        end(record, { error });
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
