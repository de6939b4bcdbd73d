import type { Agents } from '#agents';

/** Something that an agent did in the turn under way: it wrote text, or called a tool. */
export type LiveStep =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly name: string;
      readonly state: 'running' | 'done' | 'failed';
    };

/** Limits of what is stored of a turn: the end of a text in characters, and the newest steps. */
const maxText = 64 * 1024;
const maxSteps = 200;

/**
 * Follows what agents write and call in their turns. A turn that began before is followed from now on; what was stored of it
 * is dropped with its outcome, because the conversation then has it.
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

/** The steps with an event; undefined if it is none of a turn. */
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
  // The first that runs: tools of one name end in the order in which they were called, as far as anyone can see.
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
