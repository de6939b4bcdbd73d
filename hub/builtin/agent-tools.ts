import { type Agents, describeBriefly } from '#agents';
import { HubError } from '#core';
import { type Principal, policyNameOf } from '#policy';
import { z } from 'zod';
import { describeConversation, maxMessages } from './agent-conversation.ts';
import { beginTurn } from './agent-turn.ts';
import { type BuiltinTool, defineTool, readOnly, structuredResult } from './builtin-server.ts';
import { type Recorder, recorded } from './recorded.ts';

const maxWaitSeconds = 300;

const agentId = z
  .string()
  .describe('Id of the agent: 1 to 63 lowercase letters, digits and "-". A new id is a new agent.');
const known = z.string().describe('Id of the agent, as in list_agents.');
const destructive = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };

/** Creates the tools of the server `agents`. `record` gets the changes made by the owner's tools, for the audit log. */
export const createAgentTools = (agents: Agents, record: Recorder): readonly BuiltinTool[] => [
  ...callerTools(agents),
  ...ownerTools(agents, record),
];

function callerTools(agents: Agents): readonly BuiltinTool[] {
  return [
    defineTool({
      name: 'send_message',
      scope: 'call',
      title: 'Send a message to an agent',
      description:
        'Hands work to an agent and returns at once. get_messages with wait_seconds returns the answer. A new agent_id creates an agent, which has files, a shell and Python in a container of its own, without network.',
      args: z.strictObject({
        agent_id: agentId,
        message: z.string().describe('What it is to do.'),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
      async handler({ agent_id: id, message }, { principal }) {
        const from = senderOf(principal);
        const { status, messageId, position } = await agents.send(id, message, from);
        return structuredResult({ status, message_id: messageId, position });
      },
      begin: async ({ agent_id: id, message }, { principal }) =>
        await beginTurn(agents, { id, message, from: senderOf(principal) }),
    }),
    defineTool({
      name: 'get_messages',
      scope: 'call',
      title: 'Read the messages of an agent',
      description:
        'Returns the last messages of a conversation, oldest first. "error" says why the last message has no answer.',
      args: z.strictObject({
        agent_id: known,
        count: z.int().min(1).max(maxMessages).default(1).describe('Maximum number of messages.'),
        since: z
          .string()
          .optional()
          .describe('A message_id of send_message: only messages after it.'),
        wait_seconds: z
          .int()
          .min(0)
          .max(maxWaitSeconds)
          .default(0)
          .describe('How long to wait until the agent has answered.'),
      }),
      annotations: readOnly,
      async handler({ agent_id: id, count, since, wait_seconds: seconds }, { signal, progress }) {
        using _heard = seconds > 0 ? reportProgress(agents, id, progress) : undefined;
        const conversation = await agents.messages(
          id,
          { count, waitMs: seconds * 1000, ...(since !== undefined && { since }) },
          signal,
        );
        return structuredResult(describeConversation(conversation));
      },
    }),
    defineTool({
      name: 'list_agents',
      scope: 'call',
      title: 'List the agents',
      description:
        'Lists all agents: running (works now), idle (its container runs) or stopped (the next message starts it).',
      args: z.strictObject({}),
      annotations: readOnly,
      async handler() {
        return structuredResult({ agents: agents.list().map(describeBriefly) });
      },
    }),
    defineTool({
      name: 'cancel_message',
      scope: 'call',
      title: 'Cancel a message',
      description: 'Ends a message that waits, or that an agent works on.',
      args: z.strictObject({ agent_id: known, message_id: z.string() }),
      annotations: destructive,
      async handler({ agent_id: id, message_id: message }) {
        return structuredResult({ cancelled: await agents.cancel(id, message) });
      },
    }),
  ];
}

function ownerTools(agents: Agents, record: Recorder): readonly BuiltinTool[] {
  return [
    defineTool({
      name: 'configure_agent',
      scope: 'administer',
      title: 'Configure an agent',
      description:
        'Changes the model, the system prompt, the grants and the budget of an agent. Absent members stay as they are; null means the default.',
      args: z.strictObject({
        agent_id: agentId,
        model: z.string().nullable().optional(),
        system: z.string().nullable().optional(),
        grants: z
          .record(z.string(), z.json())
          .optional()
          .describe('tools, servers, agents, load_tool, network'),
        budget: z
          .record(z.string(), z.json())
          .optional()
          .describe('tokens_per_hour, calls_per_turn, steps_per_turn'),
      }),
      annotations: destructive,
      async handler({ agent_id: id, ...patch }, context) {
        await recorded(record, { action: 'agent_configure', target: id }, context, () =>
          agents.configure(id, patch),
        );
        return structuredResult({ agent_id: id, configured: Object.keys(patch) });
      },
    }),
    defineTool({
      name: 'stop_agent',
      scope: 'administer',
      title: 'Stop an agent',
      description: 'Ends the container of an agent and the messages that wait for it.',
      args: z.strictObject({ agent_id: known }),
      annotations: destructive,
      async handler({ agent_id: id }, context) {
        await recorded(record, { action: 'agent_stop', target: id }, context, () =>
          agents.stop(id),
        );
        return structuredResult({ agent_id: id, status: agents.get(id).status });
      },
    }),
    defineTool({
      name: 'remove_agent',
      scope: 'administer',
      title: 'Remove an agent',
      description:
        'Removes an agent with its conversation and its files. The user is asked first: by the client, where it can.',
      args: z.strictObject({
        agent_id: known,
        confirm: z
          .boolean()
          .default(false)
          .describe('true once the user has agreed. Only for clients that cannot ask the user.'),
      }),
      annotations: destructive,
      async handler({ agent_id: id, confirm }, context) {
        const { usage } = agents.get(id);
        const what = `its conversation (${usage.model_calls} answers of models) and the files of its workspace`;
        const answer = await context.elicit({
          message: `Remove the agent ${id}? This deletes ${what}.`,
          requestedSchema: { type: 'object', properties: {} },
        });
        if (answer && answer.action !== 'accept')
          throw new HubError(
            'HUB_CONFIRMATION_NEEDED',
            `the user did not agree (${answer.action}), so ${id} is not removed`,
          );
        if (!answer && !confirm)
          throw new HubError(
            'HUB_CONFIRMATION_NEEDED',
            `confirm: removing ${id} deletes ${what}. Ask the user, and call this again with "confirm": true`,
          );
        await recorded(record, { action: 'agent_remove', target: id }, context, () =>
          agents.remove(id),
        );
        return structuredResult({ removed: id });
      },
    }),
  ];
}

const senderOf = (principal: Principal | undefined) =>
  principal ? policyNameOf(principal) : 'local';

/** Reports what the agent does as progress of the call. */
function reportProgress(agents: Agents, id: string, progress: (message: string) => void) {
  let last: string | undefined;
  return agents.events(({ agent, event }) => {
    const doing =
      agent === id && event.type === 'view'
        ? agents.list().find(view => view.id === id)?.current?.doing
        : undefined;
    if (doing !== undefined && doing !== last) progress(doing);
    last = doing ?? last;
  });
}
