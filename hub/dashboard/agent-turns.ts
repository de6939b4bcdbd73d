import type { Agents } from '#agents';

/** A step of an agent in its current turn: it wrote text, or called a tool. */
export type LiveStep =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly name: string;
      readonly state: 'running' | 'done' | 'failed';
    };

/** Maximum length of a stored text in characters. Above it, the beginning is dropped. */
const maxText = 64 * 1024;
/** Maximum number of stored steps of a turn. */
const maxSteps = 200;

/**
 * Follows what agents write and call in their turns. Follows a turn that has already begun from now on. Deletes the
 * steps of a turn with its outcome, as they are then in the conversation.
 */
export function createLiveTurns(events: Agents['events'] | undefined) {
  const turns = new Map<string, readonly LiveStep[]>();
  const of = (agent: string) => turns.get(agent) ?? [];

  events?.(({ agent, event }) => {
    if (event.type === 'outcome') turns.delete(agent);
    const next = withEvent(of(agent), event);
    if (next) turns.set(agent, next.slice(-maxSteps));
  });

  return { of };
}

type Heard = Parameters<Parameters<Agents['events']>[0]>[0]['event'];

/** Returns the steps with an event added; undefined if the event does not belong to a turn. */
function withEvent(steps: readonly LiveStep[], event: Heard): readonly LiveStep[] | undefined {
  if (event.type === 'text') {
    const last = steps.at(-1);
    const text = (last?.kind === 'text' ? last.text : '') + event.text;
    const before = last?.kind === 'text' ? steps.slice(0, -1) : steps;
    return [...before, { kind: 'text', text: text.slice(-maxText) }];
  }
  if (event.type === 'tool')
    return [...steps, { kind: 'tool', name: event.name, state: 'running' }];
  if (event.type !== 'tool_result') return undefined;
  // Take the first running call: calls of one tool are assumed to end in the order of their start.
  const at = steps.findIndex(
    step => step.kind === 'tool' && step.state === 'running' && step.name === event.name,
  );
  if (at === -1) return undefined;
  return steps.with(at, {
    kind: 'tool',
    name: event.name,
    state: event.isError ? 'failed' : 'done',
  });
}
