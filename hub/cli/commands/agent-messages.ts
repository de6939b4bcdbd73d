import type { Run } from '../command.ts';
import type { HubClient } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';

/** Time in seconds that one request waits for an answer before the command repeats it. */
const waitSeconds = 60;

export const post = (hub: HubClient, path: string, body: object) =>
  hub.ask({ method: 'POST', path, body });

/** Waits until a message has an answer or an error. */
export async function answerTo(
  hub: HubClient,
  path: string,
  id: string,
  { progress }: Pick<Run, 'progress'>,
) {
  for (;;) {
    const query = `since=${encodeURIComponent(id)}&wait_seconds=${waitSeconds}&count=100`;
    const answer = fieldsOf(await hub.ask({ method: 'GET', path: `${path}/messages?${query}` }));
    const { status, messages, error } = answer;
    if (error !== undefined || status !== 'running' || objectsIn(messages).length > 0)
      return answer;
    progress('it is still working');
  }
}

export const textIn = ({ content }: Described): string =>
  objectsIn(content)
    .map(part => {
      if (part['type'] === 'tool_use')
        return `[calls ${String(part['name'])} ${JSON.stringify(part['input'])}]`;
      if (part['type'] === 'tool_result') return `[result] ${String(part['text'])}`;
      return String(part['text']);
    })
    .join('\n');
