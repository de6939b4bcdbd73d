import type { AgentMessage, Agents } from '#agents';
import type { BuiltinResource } from './builtin-server.ts';

/** Maximum number of messages in one response. */
export const maxMessages = 100;
/** URI of an agent's conversation. */
export const uriOf = (id: string) => `agent://${id}/messages`;
export const idIn = (uri: string) => uri.slice('agent://'.length, -'/messages'.length);
const mimeType = 'application/json';

/** Creates the resource `agent://{id}/messages`: an agent's conversation, to which clients can subscribe. */
export function conversationOf(id: string, agents: Agents): BuiltinResource {
  const uri = uriOf(id);
  return {
    uri,
    description: JSON.stringify({
      uri,
      name: `${id} messages`,
      title: `Conversation with ${id}`,
      description: `The newest messages of the agent ${id}, oldest first.`,
      mimeType,
    }),
    mimeType,
    async read() {
      const never = new AbortController().signal;
      const conversation = await agents.messages(id, { count: maxMessages }, never);
      return JSON.stringify(describeConversation(conversation));
    },
    watch: updated =>
      agents.events(({ agent, event }) => {
        if (agent === id && event.type === 'outcome') updated();
      }),
  };
}

/** Returns a conversation for clients: its messages have only their text. */
export const describeConversation = ({
  agentId,
  status,
  messages,
  error,
}: Awaited<ReturnType<Agents['messages']>>) => ({
  agent_id: agentId,
  status,
  messages: messages.map(shown),
  ...(error && { error }),
});

const shown = ({ role, content }: AgentMessage) => ({
  role,
  content: content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n'),
});
