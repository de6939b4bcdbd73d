import { type Clock, type Event, HubError, createEmitter, waitAtMost } from '#core';
import {
  type Documentation,
  documentationRequest,
  parseDocumentationRequest,
} from '#documentation';
import type { Job, Jobs } from '#jobs';
import { openCaller } from '#policy';
import type { ListKind } from '#servers';
import {
  type BuiltinServer,
  type ToolResult,
  defineTool,
  maxWaitMs,
  structuredResult,
} from './builtin-server.ts';
import { whenTurned } from './when-turned.ts';

export type DocumentationServerNeeds = {
  readonly documentation: Documentation;
  readonly jobs: Pick<Jobs, 'changed' | 'get' | 'cancel'>;
  readonly clock: Pick<Clock, 'after'>;
  /** True if the config names repositories or vaults. Otherwise the tool is not listed. */
  readonly isOn: () => boolean;
  readonly changed: Event<unknown>;
};

/** Creates the server `documentation`, which documents repositories as Obsidian notes. */
export function createDocumentationServer(needs: DocumentationServerNeeds): BuiltinServer {
  const { documentation, isOn } = needs;
  const { event: changed, fire } = createEmitter<ListKind>();
  whenTurned(needs, () => fire('tool'));
  const tool = defineTool({
    name: 'document_repository',
    scope: 'call',
    title: 'Document a repository',
    description:
      'Writes notes about a git repository into an Obsidian vault: one per module, an index, an overview and the architecture, with links and with citations of lines. Notes that did not change are not written again, and notes edited by hand are kept. dry_run shows what would be written.',
    args: documentationRequest,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    async handler(args, { principal = openCaller, signal, progress }) {
      const request = parseDocumentationRequest(args);
      const id = await documentation.begin(request, principal);
      return resultOf(await follow(id, needs, progress, signal));
    },
  });
  return {
    name: 'documentation',
    description: 'Documents repositories as notes of Obsidian.',
    tools: () => (isOn() ? [tool] : []),
    prompts: () => [],
    resources: [],
    changed,
  };
}

/**
 * Waits until a job ends, but at most nine minutes. Returns the job. If the call is cancelled meanwhile, the job is
 * cancelled.
 */
async function follow(
  id: string,
  { jobs, clock }: Pick<DocumentationServerNeeds, 'jobs' | 'clock'>,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<Job> {
  const { promise, resolve } = Promise.withResolvers<Job>();
  let last: string | undefined;
  const look = () => {
    const job = jobs.get(id);
    if (job.state !== 'running') return resolve(job);
    const text = job.progress?.text;
    if (text !== undefined && text !== last) progress(text);
    last = text;
  };
  // The cancelled job fires `changed`, which resolves the promise.
  const cancel = () => void jobs.cancel(id);
  using _heard = jobs.changed(look);
  signal.addEventListener('abort', cancel, { once: true });
  // A call that was cancelled before the listener was added fires no event.
  if (signal.aborted) cancel();
  try {
    look();
    return (await waitAtMost(maxWaitMs, promise, clock)) ?? jobs.get(id);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function resultOf(job: Job): ToolResult {
  if (job.state === 'running') return stillRunning(job);
  if (job.state !== 'done') throw new HubError(job.error.code, job.error.message);
  return structuredResult({ job_id: job.id, ...job.result });
}

function stillRunning({ id, progress }: Job): ToolResult {
  const doing = progress?.text;
  return {
    text: `The repository is still being documented${doing === undefined ? '' : ` (${doing})`}. This can take hours. The job ${id} goes on after this answer. Follow it with \`agenthub jobs follow ${id}\`, \`GET /jobs/${id}/events\` or in the dashboard. Do not call this tool again for this project before the job has ended.`,
    structured: { job_id: id, state: 'running', ...(doing !== undefined && { doing }) },
  };
}
