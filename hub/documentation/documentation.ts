import { HubError, type Service, retryable, tryParseJson } from '#core';
import type { Job, Jobs, OpenJob } from '#jobs';
import { type Principal, policyNameOf } from '#policy';
import type { Repositories } from '#repositories';
import { z } from 'zod';
import { type DocumentationRequest, documentationRequest } from './request.ts';
import type { RunNeeds } from './run-documentation.ts';
import { chooseVault } from './vault/choose-vault.ts';

/** Documents repositories as Obsidian notes. Each run is a job. */
export interface Documentation {
  /** `start` starts resumed runs. `stop` ends all runs; they are resumed when the hub runs again. */
  readonly service: Service;
  /**
   * Starts a run, and resolves with the id of its job. Rejects with HUB_PATH_REFUSED, HUB_REPOSITORY_UNKNOWN,
   * HUB_VAULT_UNKNOWN, HUB_DOCUMENTATIONS_FULL, and with HUB_REQUEST_INVALID for a model that Ollama does not have.
   */
  begin(request: DocumentationRequest, principal: Principal): Promise<string>;
}

/** Dependencies of the documentation. The code of a run is loaded with the first run. */
type DocumentationNeeds = RunNeeds & {
  readonly repositories: Pick<Repositories, 'requireAllowed' | 'open' | 'openFolder'>;
  readonly jobs: Pick<Jobs, 'begin' | 'list' | 'onResume'>;
  /** Stores the requests of running jobs, so that the next run of the hub can resume them. */
  readonly store: {
    find(id: string): Promise<string | undefined>;
    entries(): Promise<readonly (readonly [id: string, value: string])[]>;
    put(id: string, value: string): Promise<boolean>;
    remove(id: string): Promise<void>;
  };
};

const documentationKind = 'documentation';
const maxRunning = 2;

const stored = z.object({
  request: documentationRequest,
  administer: z.boolean(),
  commit: z.string().optional(),
});
type Stored = z.output<typeof stored>;

/** Creates the documentation. Call it before `jobs.start`, so that it can resume jobs of an earlier run of the hub. */
export function createDocumentation(needs: DocumentationNeeds): Documentation {
  const { config, jobs, models, repositories, store } = needs;
  /** Vault and project that each job writes, by job id. */
  const targets = new Map<string, string>();
  /** Functions that cancel a run and resolve when it has ended, by job id. */
  const runs = new Map<string, () => Promise<void>>();
  const ready = Promise.withResolvers<void>();

  /** Removes the requests of jobs that have ended. Nothing is lost if the hub is killed before this. */
  async function tidy(): Promise<void> {
    const entries = await store.entries();
    const running = new Set(jobs.list().flatMap(job => (job.state === 'running' ? [job.id] : [])));
    for (const [id] of entries) if (!running.has(id)) await store.remove(id);
  }

  function run(
    job: OpenJob,
    { request, administer, commit }: Stored,
    cancelling: AbortController,
  ): void {
    const principal: Principal = { kind: 'job', name: job.id, grants: { administer } };
    const save = async (at?: string) =>
      await store.put(job.id, JSON.stringify({ request, administer, commit: at } satisfies Stored));
    const work = async () => {
      await tidy();
      await save(commit);
      const { runDocumentation } = await import('./run-documentation.ts');
      return await runDocumentation(
        { request, principal, commit },
        needs,
        (step, text) => job.report({ step, text }),
        save,
        cancelling.signal,
      );
    };
    const ended = (end: () => void) => {
      targets.delete(job.id);
      runs.delete(job.id);
      end();
    };
    const running = work().then(
      result => ended(() => job.done(result)),
      (error: unknown) => {
        // A cancelled run may fail with any error, so report the reason of the cancellation.
        const why: unknown = cancelling.signal.aborted ? cancelling.signal.reason : error;
        ended(() => job.failed(why));
      },
    );
    runs.set(job.id, async () => {
      cancelling.abort(new HubError('HUB_SHUTTING_DOWN', 'the hub stops'));
      await running;
    });
  }

  jobs.onResume(documentationKind, (job: Job, open: OpenJob) => {
    const cancelling = new AbortController();
    const begin = async () => {
      await ready.promise;
      const text = await store.find(open.id);
      const read = stored.safeParse(tryParseJson(text ?? ''));
      if (!read.success)
        return open.failed(
          new HubError(
            'HUB_INTERNAL',
            `the request of ${job.title} was not stored: begin it again`,
          ),
        );
      if (cancelling.signal.aborted) return open.failed(cancelling.signal.reason);
      targets.set(open.id, targetOf(read.data.request));
      return run(open, read.data, cancelling);
    };
    begin().catch((error: unknown) => open.failed(error));
    return reason => cancelling.abort(reason);
  });

  const targetOf = ({ vault, project_name: name }: DocumentationRequest) =>
    `${chooseVault(vault, config()).place}\n${name.toLowerCase()}`;

  const service: Service = {
    async start() {
      await tidy();
      ready.resolve();
    },
    stop: async () => void (await Promise.all([...runs.values()].map(end => end()))),
  };

  return {
    service,
    async begin(given, principal) {
      const repo_path = await repositories.requireAllowed(given.repo_path, principal);
      const { place, isNamed } = chooseVault(given.vault, config());
      // The real path, because two runs must not write one folder under two names.
      const vault = isNamed ? await repositories.requireAllowed(place, principal) : given.vault;
      const request = { ...given, repo_path, vault };
      const { model = 'none' } = request;
      const fault =
        model === 'none' ? undefined : await models.findFault(model, new AbortController().signal);
      if (fault !== undefined) throw new HubError('HUB_REQUEST_INVALID', `model: ${fault}`);
      const target = targetOf(request);
      const busy = [...targets].find(([, other]) => other === target)?.[0];
      if (busy !== undefined)
        throw retryable(
          'HUB_DOCUMENTATIONS_FULL',
          `the job ${busy} documents ${request.project_name} already: wait for it, or cancel it`,
        );
      if (targets.size >= maxRunning)
        throw retryable(
          'HUB_DOCUMENTATIONS_FULL',
          `${maxRunning} repositories are being documented already: wait for one of them`,
        );
      const cancelling = new AbortController();
      const job = jobs.begin({
        kind: documentationKind,
        title: `Document ${request.project_name}${request.dry_run ? ' (dry run)' : ''}`,
        principal: policyNameOf(principal),
        cancel: reason => cancelling.abort(reason),
      });
      targets.set(job.id, target);
      run(job, { request, administer: principal.grants.administer }, cancelling);
      return job.id;
    },
  };
}
