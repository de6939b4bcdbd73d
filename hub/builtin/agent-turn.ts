import type { AgentEvent, Agents } from '#agents';
import { HubError, createEmitter } from '#core';
import type { BuiltinTask } from './builtin-server.ts';

type Outcome = Extract<AgentEvent, { type: 'outcome' }>;

/** Sends a message to an agent as an MCP task, whose result is the agent's answer. Rejects like `Agents.send`. */
export async function beginTurn(
  agents: Pick<Agents, 'cancel' | 'events' | 'list' | 'messages' | 'send'>,
  { id, message, from }: { readonly id: string; readonly message: string; readonly from: string },
): Promise<BuiltinTask> {
  const { event: changed, fire } = createEmitter<undefined>();
  const { promise: ended, resolve } = Promise.withResolvers<Outcome>();
  const early = new Map<string, Outcome>();
  let take = (outcome: Outcome) => void early.set(outcome.messageId, outcome);
  // Subscribed before the message is sent: the outcome may arrive before the id of the message is known.
  const heard = agents.events(({ agent, event }) => {
    if (agent !== id) return;
    if (event.type === 'view') fire(undefined);
    if (event.type === 'outcome') take(event);
  });
  const send = async () => {
    try {
      return await agents.send(id, message, from);
    } catch (error) {
      heard[Symbol.dispose]();
      throw error;
    }
  };
  const { messageId } = await send();
  take = outcome => {
    if (outcome.messageId === messageId) resolve(outcome);
  };
  early.forEach(take);

  async function answer() {
    const { status, error } = await ended;
    heard[Symbol.dispose]();
    if (status === 'cancelled')
      throw new HubError('HUB_CALL_CANCELLED', `the message ${messageId} to ${id} was cancelled`);
    const turn = { status, agent_id: id, message_id: messageId };
    if (error)
      return {
        text: `${error.message} (${error.code})`,
        structured: { ...turn, error },
        isError: true,
      };
    const never = new AbortController().signal;
    const { messages } = await agents.messages(id, { count: maxMessages, since: messageId }, never);
    const text = messages.filter(({ message_id: of }) => of === messageId).at(-1);
    const said = (text?.content ?? []).flatMap(part => (part.type === 'text' ? [part.text] : []));
    return { text: said.join('\n'), structured: turn };
  }

  return {
    id: messageId,
    doing() {
      const view = agents.list().find(agent => agent.id === id);
      if (view?.current?.messageId === messageId) return view.current.doing;
      return view && 'waits for the messages before it';
    },
    changed,
    result: answer(),
    cancel: () => agents.cancel(id, messageId),
  };
}

const maxMessages = 1_000;
