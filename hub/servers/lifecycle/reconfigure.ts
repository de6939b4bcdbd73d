import { noRestarts } from './restart-policy.ts';
import type { Effect, Event, Facts, State, Transition } from './state.ts';
import { detached, queue, start, stop } from './transitions.ts';

type Reconfigure = Extract<Event, { type: 'reconfigure' }>;

/** Applies another config: at once, by a restart, or by a successor beside the running instance. Pure. */
export function reconfigure(state: State, event: Reconfigure, facts: Facts): Transition {
  const { config, isReplaced } = event;
  const before = facts.config;
  const use: Effect = { type: 'use_config', config };
  const finish: Effect = { type: 'finish_change' };
  if (state.isClosed) return { state, effects: [finish] };
  if (!config.enabled) {
    if (!before.enabled) return { state, effects: [use, finish] };
    const ending = stop(state, facts);
    return {
      state: ending.state,
      effects: [use, ...ending.effects, { ...finish, afterEnd: true }],
    };
  }
  const isActive = !['stopped', 'stopping', 'failed'].includes(state.phase);
  if (isReplaced && before.enabled && isActive) return replace(state, event, facts);
  const fresh = { ...state, history: noRestarts };
  const wasOn = before.enabled && before.autoStart;
  if (facts.audience !== 'all') return { state: fresh, effects: [use, finish] };
  if (state.phase === 'failed') return recover(fresh, event, facts);
  const mayStart = state.phase === 'stopped' && !(state.byHand && before.enabled);
  if (!config.autoStart || !mayStart || wasOn) return { state: fresh, effects: [use, finish] };
  const begun = start(fresh, facts);
  return { state: begun.state, effects: [use, ...begun.effects, finish] };
}

/** A failed server may start with the new config, if only because it has more time. */
function recover(state: State, { config }: Reconfigure, facts: Facts): Transition {
  const ending = stop(state, facts);
  const effects: readonly Effect[] = [
    { type: 'use_config', config },
    ...ending.effects,
    { type: 'reset_admission' },
  ];
  const finish: Effect = { type: 'finish_change', afterEnd: true };
  return config.autoStart
    ? queue({ ...ending.state, byHand: false }, facts, effects, [finish])
    : { state: ending.state, effects: [...effects, finish] };
}

/** Replaces whatever is under way by an instance of the new config. */
function replace(state: State, event: Reconfigure, facts: Facts): Transition {
  const { config, isExclusive } = event;
  if (state.phase === 'running' && !isExclusive)
    return {
      state: { ...state, successor: { config, isLaunched: false } },
      effects: [{ type: 'hurry_draining' }, { type: 'await_settled' }],
    };
  const before: readonly Effect[] = [
    { type: 'use_config', config },
    { type: 'cancel' },
    ...detached(state),
  ];
  if (state.phase !== 'running') return queue(state, facts, before, [{ type: 'finish_change' }]);
  const { instance } = state;
  const drain: Effect = { type: 'drain_instance', instance, isReplaced: false };
  return queue(state, facts, before, [drain], { kind: 'replace', before: facts.config });
}
