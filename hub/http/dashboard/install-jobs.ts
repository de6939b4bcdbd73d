import { type Log, HubError } from '#core';
import type { InstallForm, Job } from '#dashboard';
import type { Installs, Unconfirmed } from '#servers';
import { bugOf } from '../errors.ts';
import { textAt } from './request.ts';
import { readInstallBody } from '../routes/install-body.ts';

/** Installs that were begun by a form: they go on when the page is closed. */
export interface InstallJobs {
  /** The newest first. */
  readonly all: readonly Job[];
  find(id: string): Job | undefined;
  /**
   * What the person has to agree to before it is installed. Begins nothing. Throws HUB_REQUEST_INVALID; what is
   * wrong with the entry itself is told by the job.
   */
  review(form: InstallForm): Promise<readonly Unconfirmed[]>;
  /**
   * Answers with the id of the job; `confirm` is what the person has agreed to. Throws HUB_REQUEST_INVALID, and
   * HUB_INSTALLS_FULL.
   */
  begin(form: InstallForm, confirm: readonly string[]): string;
  cancel(id: string): void;
}

type Needs = {
  readonly installs: Pick<Installs, 'install' | 'review'>;
  readonly redact: (text: string) => string;
  readonly newId: () => string;
  readonly log: Log;
  /** Called with each line. */
  readonly changed: () => void;
};

type Running = { job: Job; readonly cancelling: AbortController };

/** Jobs that are kept; what is over is forgotten first. */
const maxJobs = 20;
/** Lines that are kept of each, the newest. */
const maxLines = 300;
const maxLineLength = 500;

export function createInstallJobs(needs: Needs): InstallJobs {
  const { redact, changed } = needs;
  const jobs = new Map<string, Running>();

  function makeRoom(): void {
    if (jobs.size < maxJobs) return;
    for (const [id, { job }] of jobs)
      if (job.state !== 'running') {
        jobs.delete(id);
        return;
      }
    throw new HubError(
      'HUB_INSTALLS_FULL',
      `${maxJobs} servers are being installed already: wait for one of them`,
      { data: { retryable: true } },
    );
  }

  async function run(running: Running, wanted: ReturnType<typeof readInstallBody>): Promise<void> {
    const put = (change: Partial<Job>) => {
      running.job = { ...running.job, ...change };
      changed();
    };
    try {
      const installed = await needs.installs.install(
        wanted,
        ({ step, text }) => {
          const line = { step, text: redact(text).slice(0, maxLineLength) };
          put({ lines: [...running.job.lines, line].slice(-maxLines) });
        },
        running.cancelling.signal,
      );
      const warnings = installed['warnings'];
      put({
        state: 'done',
        name: installed.name,
        warnings: Array.isArray(warnings) ? warnings.map(text => redact(String(text))) : [],
      });
    } catch (error) {
      put({ state: 'failed', problem: redact(problemOf(error)) });
    }
  }

  function problemOf(error: unknown): string {
    if (error instanceof HubError) return error.message;
    return textAt(bugOf(error, '/dashboard/install', needs)['error'], 'message');
  }

  return {
    get all() {
      return [...jobs.values()].map(({ job }) => job).toReversed();
    },
    find: id => jobs.get(id)?.job,
    async review(form) {
      const wanted = readInstallBody(bodyOf(form));
      try {
        return await needs.installs.review(wanted);
      } catch (error) {
        if (error instanceof HubError && error.code !== 'HUB_REQUEST_INVALID') return [];
        throw error;
      }
    },
    begin(form, confirm) {
      const wanted = readInstallBody({ ...bodyOf(form), confirm });
      makeRoom();
      const id = needs.newId();
      const running: Running = {
        job: {
          id,
          what: redact(form.package),
          state: 'running',
          lines: [],
          name: undefined,
          warnings: [],
          problem: undefined,
        },
        cancelling: new AbortController(),
      };
      jobs.set(id, running);
      void run(running, wanted);
      return id;
    },
    cancel: id => jobs.get(id)?.cancelling.abort(new Error('it was cancelled in the dashboard')),
  };
}

/** What the form says, as the body of `POST /servers/install`. Throws HUB_REQUEST_INVALID. */
function bodyOf(form: InstallForm): object {
  const { package: wanted, name, transport, network, args, env } = form;
  const given = (text: string) => (text.trim() === '' ? undefined : text.trim());
  const entries = linesOf(env).map(line => {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined)
      throw new HubError(
        'HUB_REQUEST_INVALID',
        'env: a line of the environment has no "=": write NAME=value',
      );
    return [key.trim(), value] as const;
  });
  const values = {
    package: given(wanted),
    name: given(name),
    transport: given(transport),
    network: given(network),
    args: args === '' ? undefined : linesOf(args),
    env: entries.length === 0 ? undefined : Object.fromEntries(entries),
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

const linesOf = (text: string): readonly string[] =>
  text.split(/\r?\n/).filter(line => line.trim() !== '');
