import type { AgentContent, AgentMessage } from '#agents';
import type { LiveStep } from './agent-turns.ts';
import { moment } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { badge, empty, notice } from './pieces.ts';

/** Maximum length of a tool's result on a page, in characters. */
const maxResult = 20_000;

export type ShownConversation = {
  /** Messages with tool calls and their results, oldest first. */
  readonly messages: readonly AgentMessage[];
  /** Messages without an outcome. If the agent is working, it works on the first one. */
  readonly waiting: readonly AgentMessage[];
  readonly live: readonly LiveStep[];
  readonly isWorking: boolean;
  readonly error: string | undefined;
};

type Use = Extract<AgentContent, { type: 'tool_use' }>;
type Result = Extract<AgentContent, { type: 'tool_result' }>;

/** Returns a conversation: texts, folded tool calls, the current turn, and the waiting messages. */
export function conversationPart(shown: ShownConversation): Html {
  const { messages, waiting, live, isWorking, error } = shown;
  if (messages.length === 0 && waiting.length === 0)
    return error === undefined ? empty('No message yet.') : notice('bad', error);
  const [current, ...queued] = isWorking ? waiting : [undefined, ...waiting];
  return html`<ol class="conversation">${saidBefore(messages)}${current && asked(current)}${isWorking && underWay(live)}${error !== undefined && html`<li>${notice('bad', error)}</li>`}${queued.map(message => message && asked(message, 'waits'))}</ol>`;
}

function saidBefore(messages: readonly AgentMessage[]): readonly Html[] {
  const results = new Map<string, Result>();
  for (const { message_id: id, content } of messages)
    for (const one of content)
      if (one.type === 'tool_result') results.set(`${id} ${one.tool_use_id}`, one);
  const ids = new Set<string>();
  return messages.flatMap(message => {
    if (message.role === 'tool') return [];
    if (message.role === 'user') return asked(message);
    return html`<li class="agent"><p class="note">agent${timeOf(message)}</p>${message.content.map(
      one => {
        if (one.type === 'text') return one.text !== '' && said(one.text);
        if (one.type !== 'tool_use') return undefined;
        const result = results.get(`${message.message_id} ${one.id}`);
        return toolCall(one, result, freeId(ids, `call-${message.message_id}-${one.id}`));
      },
    )}</li>`;
  });
}

/** Returns an unused id for an element. Models choose the ids of their tool calls, and may repeat them. */
function freeId(taken: Set<string>, wanted: string): string {
  const plain = wanted.replaceAll(/[^\w-]/g, '-').slice(0, 200);
  let id = plain;
  for (let count = 2; taken.has(id); count++) id = `${plain}-${count}`;
  taken.add(id);
  return id;
}

const said = (text: string): Html => html`<div class="said">${text}</div>`;

/** Returns the time of a message. An agent writes the time, so it may be invalid. */
function timeOf({ at }: AgentMessage): Content {
  const time = Date.parse(at);
  return Number.isNaN(time) ? undefined : html`, ${moment(time, 'date')}`;
}

function asked(message: AgentMessage, state?: string): Html {
  const text = message.content.map(one => (one.type === 'text' ? one.text : '')).join('\n');
  return html`<li class="user"><p class="note">user${timeOf(message)} ${state !== undefined && badge('idle', state)}</p>${said(text)}</li>`;
}

/**
 * Returns a folded tool call. Its element never changes, so that it stays as the reader left it when the page is
 * updated.
 */
function toolCall({ name, input }: Use, result: Result | undefined, id: string): Html {
  const outcome = result
    ? badge(result.is_error ? 'bad' : 'good', result.is_error ? 'failed' : 'done')
    : badge('idle', 'no result');
  const text = result?.text ?? '';
  const box = (part: string, label: string, shown: string) =>
    html`<h3>${label}</h3><pre id="${id}-${part}" tabindex="0" role="region" aria-label="${label} of ${name}">${shown}</pre>`;
  return html`<details id="${id}"${result && html` hx-preserve="true"`}><summary id="${id}-name"><code>${name}</code> ${outcome}</summary>${box('input', 'Input', JSON.stringify(input, undefined, 2))}${text !== '' && box('result', 'Result', text.slice(0, maxResult))}${text.length > maxResult && html`<p class="note">${text.length - maxResult} more characters were left out.</p>`}</details>`;
}

const stepTones = { running: 'busy', done: 'good', failed: 'bad' } as const;

function underWay(live: readonly LiveStep[]): Html {
  const steps = live.map(step =>
    step.kind === 'text'
      ? said(step.text)
      : html`<p><code>${step.name}</code> ${badge(stepTones[step.state], step.state)}</p>`,
  );
  return html`<li class="agent" id="under-way"><p class="note">agent ${badge('busy', 'works')}</p>${steps}</li>`;
}
