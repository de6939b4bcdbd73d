import type { Judge, Judgement } from '../../hub/enhance/judge.ts';

/** A judge whose answers a test gives. */
export type ScriptedJudge = Judge & {
  /** What was asked, in order, and by which way. */
  readonly asked: (readonly [way: 'now' | 'later', a: string, b: string])[];
  /** Answers of the two ways; a promise makes it wait. */
  now: Judgement;
  later: Judgement | Promise<Judgement>;
};

export function scriptedJudge(now: Judgement = 'same'): ScriptedJudge {
  const judge: ScriptedJudge = {
    model: 'scripted',
    asked: [],
    now,
    later: 'unknown',
    async approve(a, b) {
      judge.asked.push(['now', a, b]);
      return judge.now;
    },
    async ponder(a, b) {
      judge.asked.push(['later', a, b]);
      return await judge.later;
    },
  };
  return judge;
}
