import { type Event, HubError, type JsonObject, createEmitter } from '#core';
import {
  type Documentation,
  documentationRequest,
  parseDocumentationRequest,
} from '#documentation';
import type { Job, Jobs } from '#jobs';
import type { Principal } from '#policy';
import type { ListKind } from '#servers';
import { type BuiltinServer, type ToolResult, defineTool } from './builtin-server.ts';

export type DocumentationServerNeeds = {
  readonly documentation: Documentation;
  readonly jobs: Pick<Jobs, 'changed' | 'get' | 'cancel'>;
  /** Whether the config names repositories or vaults. Without them, clients are not offered the tool. */
  readonly isOn: () => boolean;
  readonly changed: Event<unknown>;
};

/** For a call over a transport that knows no principals: it may do no more than any caller. */
const anyCaller: Principal = { kind: 'local', name: 'local', grants: { administer: false } };

/** The server `documentation`: it documents repositories as notes of Obsidian. */
export function createDocumentationServer(needs: DocumentationServerNeeds): BuiltinServer {
  const { documentation, jobs, isOn } = needs;
  const { event: changed, fire } = createEmitter<ListKind>();
  let wasOn = isOn();
  needs.changed(() => {
    if (isOn() === wasOn) return;
    wasOn = !wasOn;
    fire('tool');
  });
  const tool = defineTool({
    name: 'document_repository',
    scope: 'call',
    title: 'Document a repository',
    description:
      'Writes notes about a git repository into an Obsidian vault: one per module, an index, an overview and the architecture, with links and with citations of lines. Notes that did not change are not written again, and notes edited by hand are kept. dry_run shows what would be written.',
    args: documentationRequest,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    async handler(args, { principal = anyCaller, signal, progress }) {
      const request = parseDocumentationRequest(args);
      const id = await documentation.begin(request, principal);
      const job = await follow(id, jobs, progress, signal);
      return resultOf(job);
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

/** Waits for the end of a job. A cancelled call cancels it. */
async function follow(
  id: string,
  jobs: DocumentationServerNeeds['jobs'],
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
  // Its end resolves the promise.
  const cancel = () => void jobs.cancel(id);
  using _heard = jobs.changed(look);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    look();
    return await promise;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function resultOf(job: Job): ToolResult {
  if (job.state === 'running')
    throw new HubError('HUB_INTERNAL', `the job ${job.id} has not ended`);
  if (job.state !== 'done') throw new HubError(job.error.code, job.error.message);
  const structured: JsonObject = { job_id: job.id, ...job.result };
  return { text: JSON.stringify(structured), structured };
}
