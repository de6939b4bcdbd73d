import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  type AgentEvent,
  type AgentMessage,
  type AgentView,
  type Agents,
  describeBriefly,
} from '#agents';
import { isObject } from '#core';
import { policyNameOf } from '#policy';
import type { RouteAdmission } from '../admission.ts';
import { administered } from '../guard.ts';
import { changing } from './audit.ts';
import { type Follow, hangUpOf } from './events.ts';
import {
  type Identified,
  invalid,
  misfit,
  readFlag,
  readMembers,
  readQuery,
  readWhole,
  refuseBody,
  snakeCased,
  timeOf,
} from './input.ts';

type OfMessage = { readonly Params: { readonly id: string; readonly message: string } };
type OfFile = { readonly Params: { readonly id: string; readonly '*': string } };

type Needs = {
  readonly agents: Agents;
  readonly admission: Pick<RouteAdmission, 'principalOf' | 'refuse'>;
  readonly follow: Follow;
};

/** Maximum number of events that one write sends. Above it, the oldest are dropped. */
const maxWaiting = 500;
const maxMessages = 1_000;
const maxWaitSeconds = 300;

/**
 * Adds the routes `/agents`. Only the owner may read conversations and files and send messages here. Clients use the
 * tools of the server `agents`, which the policy covers.
 */
export function agentRoutes(app: FastifyInstance, { agents, admission, follow }: Needs): void {
  app.get('/agents', async () => ({
    agents: agents.list().map(describeBriefly),
    ...(agents.refusal && { unavailable: agents.refusal.message }),
  }));

  app.get<Identified>('/agents/:id', administered, async ({ params }) =>
    describeAgent(agents.get(params.id)),
  );

  app.get<Identified>('/agents/:id/messages', administered, async (request, reply) => {
    const query = readQuery(request, ['count', 'since', 'wait_seconds', 'tools']);
    const waitSeconds =
      readWhole('wait_seconds', query.wait_seconds, { least: 0, most: maxWaitSeconds }) ?? 0;
    const conversation = await agents.messages(
      request.params.id,
      {
        count: readWhole('count', query.count, { least: 1, most: maxMessages }) ?? 1,
        ...(query.since !== undefined && { since: query.since }),
        waitMs: waitSeconds * 1000,
        withTools: readFlag('tools', query.tools),
      },
      hangUpOf(reply),
    );
    // The client may have lost its right to administer the hub during the wait.
    if (admission.refuse(request, reply)) return reply;
    const { agentId, status, messages, waiting, failures, error } = conversation;
    return {
      agent_id: agentId,
      status,
      messages,
      ...(waiting.length > 0 && { waiting }),
      ...(failures.length > 0 && { failures }),
      ...(error && { error }),
    };
  });

  app.post<Identified>(
    '/agents/:id/messages',
    changing('agent_send'),
    async (request, reply): Promise<unknown> => {
      const from = policyNameOf(admission.principalOf(request));
      const message = readMessage(request);
      const { status, messageId, position } = await agents.send(request.params.id, message, from);
      return await reply.code(202).send({ status, message_id: messageId, position });
    },
  );

  app.delete<OfMessage>(
    '/agents/:id/messages/:message',
    changing('agent_cancel'),
    async ({ params, body }) => {
      refuseBody(body, 'DELETE /agents/{id}/messages/{message}');
      return { cancelled: await agents.cancel(params.id, params.message) };
    },
  );

  app.post<Identified>(
    '/agents/:id/configure',
    changing('agent_configure', ['model', 'grants', 'budget']),
    async ({ params, body }) => describeAgent(await agents.configure(params.id, body)),
  );

  app.post<Identified>('/agents/:id/stop', changing('agent_stop'), async ({ params, body }) => {
    refuseBody(body, 'POST /agents/{id}/stop');
    await agents.stop(params.id);
    return describeAgent(agents.get(params.id));
  });

  app.delete<Identified>('/agents/:id', changing('agent_remove'), async ({ params, body }) => {
    refuseBody(body, 'DELETE /agents/{id}');
    await agents.remove(params.id);
    return { removed: params.id };
  });

  app.get<Identified>('/agents/:id/files', administered, async ({ params }) => ({
    files: (await agents.files.list(params.id)).map(({ path, bytes, changedAt }) => ({
      path,
      bytes,
      changed_at: timeOf(changedAt),
    })),
  }));

  app.get<OfFile>('/agents/:id/files/*', administered, async ({ params }, reply) => {
    const file = await agents.files.open(params.id, params['*']);
    const body = Readable.from(file.chunks);
    // Also closes the file if the client disconnected while the file was opened.
    body.once('close', () => void file[Symbol.asyncDispose]());
    return await reply
      .header('content-type', 'application/octet-stream')
      .header('content-length', file.bytes)
      .header('content-disposition', 'attachment')
      .header('x-content-type-options', 'nosniff')
      .send(body);
  });

  app.get<Identified>('/agents/:id/events', administered, async ({ params }, reply) => {
    const { id } = agents.get(params.id);
    let waiting: AgentEvent[] = [];
    return follow(reply, {
      listen: changed =>
        agents.events(({ agent, event }) => {
          if (agent !== id) return;
          waiting = joined(waiting, event);
          changed();
        }),
      tell(events) {
        for (const event of waiting.splice(0)) {
          const { type, ...data } = described(event, agents, id);
          events.send(type, data, type === 'outcome');
        }
      },
    });
  });
}

function readMessage({ body }: FastifyRequest): string {
  const { message } = readMembers(isObject(body) ? body : {}, ['message']);
  if (typeof message !== 'string')
    throw invalid(`message: ${misfit(message)}: send {"message": "text"}`);
  return message;
}

/** Adds an event to the waiting ones. Consecutive pieces of one text become one event. */
function joined(waiting: readonly AgentEvent[], event: AgentEvent): AgentEvent[] {
  const last = waiting.at(-1);
  if (event.type === 'text' && last?.type === 'text' && last.messageId === event.messageId)
    return [...waiting.slice(0, -1), { ...last, text: last.text + event.text }];
  return [...waiting, event].slice(-maxWaiting);
}

/** Formats an event with the keys of the REST API. `view` contains the current state of the agent. */
function described(event: AgentEvent, agents: Agents, id: string) {
  switch (event.type) {
    case 'view': {
      const view = agents.list().find(agent => agent.id === id);
      return { type: 'view', agent: view ? describeAgent(view) : null };
    }
    case 'message':
      return { type: 'message', message: event.message satisfies AgentMessage };
    case 'tool':
      return {
        type: 'tool',
        message_id: event.messageId,
        name: event.name,
        input: event.input ?? null,
      };
    default: {
      const { type, messageId, ...rest } = event;
      return { type, message_id: messageId, ...snakeCased(rest) };
    }
  }
}

function describeAgent(view: AgentView) {
  const { why, containerId, usage, settings, current } = view;
  return {
    ...describeBriefly(view),
    why: why ?? null,
    container_id: containerId ?? null,
    usage,
    settings: { model: null, system: null, ...snakeCased(settings) },
    current: current
      ? { message_id: current.messageId, since: timeOf(current.since), doing: current.doing }
      : null,
  };
}
