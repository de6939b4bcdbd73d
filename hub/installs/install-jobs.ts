import { HubError } from '#core';
import type { Job, Jobs, OpenJob } from '#jobs';
import type { Installed } from './installed.ts';
import type { Installs } from './installs.ts';
import type { InstallRequest, InstallProgress } from './request.ts';

/** Runs installs as jobs: they are listed, can be cancelled, and are known to the next run of the hub. */
export type InstallJobs = ReturnType<typeof createInstallJobs>;

type Needs = {
  readonly installs: Pick<Installs, 'install'>;
  readonly jobs: Pick<Jobs, 'begin' | 'list'>;
};

export const installKind = 'install';
/** Maximum number of running installs. `begin` refuses more. */
const maxRunning = 20;

export function createInstallJobs({ installs, jobs }: Needs) {
  function open(request: InstallRequest, principal: string, cancelling: AbortController): OpenJob {
    const title = titleOf(request);
    const cancel = (reason: HubError) => cancelling.abort(reason);
    return jobs.begin({ kind: installKind, title, principal, cancel });
  }

  return {
    /** Installs a server while the caller waits. A request that fails in the step `validate` creates no job. */
    async install(
      request: InstallRequest,
      principal: string,
      tell: (progress: InstallProgress) => void,
      signal: AbortSignal,
    ): Promise<Installed> {
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
    /** Starts an install as a job. `over` resolves when it ends. Throws HUB_INSTALLS_FULL. */
    begin(
      request: InstallRequest,
      principal: string,
    ): { readonly id: string; readonly over: Promise<void> } {
      const isRunning = ({ kind, state }: Job) => kind === installKind && state === 'running';
      if (jobs.list().filter(isRunning).length >= maxRunning)
        throw new HubError(
          'HUB_INSTALLS_FULL',
          `${maxRunning} servers are being installed already: wait for one of them`,
          { data: { retryable: true } },
        );
      const cancelling = new AbortController();
      const job = open(request, principal, cancelling);
      const over = installs
        .install(request, progress => job.report(progress), cancelling.signal)
        .then(
          installed => job.done(resultOf(installed)),
          (error: unknown) => job.failed(error),
        );
      return { id: job.id, over };
    },
  };
}

const resultOf = ({ name, warnings }: Installed) => ({
  name,
  warnings: Array.isArray(warnings) ? warnings.map(String) : [],
});

/** Returns the title of the job. As every caller can read it, it omits user, password and query of an address. */
function titleOf({ source }: InstallRequest): string {
  const what = 'server' in source ? source.server.name : source.package.trim();
  return `Install ${what.replace(/(https?:\/\/)(?:[^\s/?#]*@)?([^\s?#]*)\S*/gi, '$1$2')}`;
}
