import { HubError, isObject, tryParseJson } from '#core';
import type { ExitCode, Run } from '../command.ts';
import type { HubClient } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { emptyAtEnd } from '../terminal.ts';
import { usageError } from '../values.ts';
import { answerTo, post, textIn } from './agent-messages.ts';

const maxMessages = 1_000;
/** Maximum length of the line that shows a tool call, in characters. */
const maxLine = 200;

export async function chat(hub: HubClient, path: string, run: Run): Promise<ExitCode> {
  const { needs, out, err, errorScreen, screen, signal } = run;
  const { ask } = needs;
  if (!ask) throw usageError('agent chat: needs a terminal. Use "agenthub agent send" in scripts');
  for (;;) {
    const message = (await ask('you> ', signal).catch(emptyAtEnd)).trim();
    if (message === '') return 0;
    const sent = fieldsOf(await post(hub, `${path}/messages`, { message }));
    const id = String(sent['message_id']);
    if (typeof sent['position'] === 'number' && sent['position'] > 0)
      err(`${sent['position']} messages are before it`);
    const outcome = await followTurn(hub, path, id, run);
    if (outcome !== undefined) err(errorScreen.paint('red', screen.foreign(outcome)));
    out('');
  }
}

/** Prints the tool calls and the answer of a turn as they arrive. Returns the error if the turn has no answer. */
async function followTurn(hub: HubClient, path: string, id: string, run: Run) {
  const { out, screen, progress, signal } = run;
  const following = new AbortController();
  const stop = AbortSignal.any([signal, following.signal]);
  const watching = watchTools(hub, path, id, { ...run, signal: stop });
  progress('working');
  const { messages, error } = await answerTo(hub, path, id, run).finally(() => following.abort());
  const shown = await watching;
  // In a fast turn, events may arrive after the answer.
  for (const tool of (await toolsOf(hub, path, id)).slice(shown)) showTool(tool, run);
  for (const message of objectsIn(messages)) out(screen.foreign(textIn(message)));
  return isObject(error) ? `${String(error['code'])}: ${String(error['message'])}` : undefined;
}

/**
 * Prints tools as they are called, until the signal aborts or the events end. Resolves with the number of printed
 * tools. Does not reject if the connection breaks: the conversation lists the tools too, and the request for the answer
 * reports a hub that has stopped.
 */
async function watchTools(hub: HubClient, path: string, id: string, run: Run): Promise<number> {
  const { signal } = run;
  let shown = 0;
  try {
    for await (const { type, data } of hub.follow({
      method: 'GET',
      path: `${path}/events`,
      signal,
    })) {
      const event = fieldsOf(tryParseJson(data));
      if (type !== 'tool' || event['message_id'] !== id) continue;
      showTool(event, run);
      shown++;
    }
  } catch (error) {
    if (!signal.aborted && !(error instanceof HubError)) throw error;
  }
  return shown;
}

/** Returns the tools that were called for a message, read from the conversation. */
async function toolsOf(hub: HubClient, path: string, id: string): Promise<readonly Described[]> {
  const query = `since=${encodeURIComponent(id)}&tools=true&count=${maxMessages}`;
  const answer = await hub.ask({ method: 'GET', path: `${path}/messages?${query}` });
  const messages = objectsIn(fieldsOf(answer)['messages']);
  const next = messages.findIndex(({ role }) => role === 'user');
  return messages
    .slice(0, next === -1 ? undefined : next)
    .flatMap(({ content }) => objectsIn(content))
    .filter(({ type }) => type === 'tool_use');
}

function showTool({ name, input }: Described, { out, screen }: Run): void {
  const line = `  ${String(name)} ${JSON.stringify(input)}`.slice(0, maxLine);
  out(screen.paint('dim', screen.foreign(line)));
}
