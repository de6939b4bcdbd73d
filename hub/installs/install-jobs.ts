import { HubError } from '#core';
import type { Jobs, OpenJob } from '#jobs';
import type { Installed, Installs } from './installs.ts';
import type { InstallRequest, Progress } from './request.ts';

/** Installs that are jobs: listed, cancellable, and known to the next run of the hub. */
export interface InstallJobs {
  /**
   * Installs as `Installs` does, for a caller that waits. It is a job from the moment that more is done than checking
   * the request, so that a request which is refused leaves none.
   */
  install(
    request: InstallRequest,
    principal: string,
    tell: (progress: Progress) => void,
    signal: AbortSignal,
  ): Promise<Installed>;
  /** Begins an install that nobody waits for. Answers with the id of its job. Throws HUB_INSTALLS_FULL. */
  begin(request: InstallRequest, principal: string): string;
}

type Needs = {
  readonly installs: Pick<Installs, 'install'>;
  readonly jobs: Pick<Jobs, 'begin' | 'list'>;
};

/** The kind of these jobs. */
export const installKind = 'install';
/** Installs that nobody waits for are refused while as many run. */
const maxRunning = 20;

export function createInstallJobs({ installs, jobs }: Needs): InstallJobs {
  const open = (request: InstallRequest, principal: string, cancelling: AbortController) =>
    jobs.begin({
      kind: installKind,
      title: titleOf(request),
      principal,
      cancel: reason => cancelling.abort(reason),
    });

  return {
    async install(request, principal, tell, signal) {
      const cancelling = new AbortController();
      let job: OpenJob | undefined;
      try {
        const installed = await installs.install(
          request,
          progress => {
            if (progress.step !== 'validate') job ??= open(request, principal, cancelling);
            job?.report(progress);
            tell(progress);
          },
          AbortSignal.any([signal, cancelling.signal]),
        );
        job?.done(resultOf(installed));
        return installed;
      } catch (error) {
        job?.failed(error);
        throw error;
      }
    },
    begin(request, principal) {
      const running = jobs
        .list()
        .filter(({ kind, state }) => kind === installKind && state === 'running');
      if (running.length >= maxRunning)
        throw new HubError(
          'HUB_INSTALLS_FULL',
          `${maxRunning} servers are being installed already: wait for one of them`,
          { data: { retryable: true } },
        );
      const cancelling = new AbortController();
      const job = open(request, principal, cancelling);
      installs
        .install(request, progress => job.report(progress), cancelling.signal)
        .then(
          installed => job.done(resultOf(installed)),
          (error: unknown) => job.failed(error),
        );
      return job.id;
    },
  };
}

/** The name that was chosen, and what to think about. */
const resultOf = ({ name, warnings }: Installed) => ({
  name,
  warnings: Array.isArray(warnings) ? warnings.map(String) : [],
});

/** Everybody who may call the hub reads it, so it has no user, password or query of an address. */
function titleOf({ source }: InstallRequest): string {
  const what = 'server' in source ? source.server.name : source.package.trim();
  return `Install ${what.replace(/(https?:\/\/)(?:[^\s/?#]*@)?([^\s?#]*)\S*/gi, '$1$2')}`;
}
