import type { Judge, Judgement } from '../../hub/enhance/judge.ts';

/** A judge whose answers a test gives. */
type ScriptedJudge = Judge & {
  /** What was asked, in order. */
  readonly asked: (readonly [a: string, b: string])[];
  /** The next answers; a promise makes it wait. */
  answer: Judgement | Promise<Judgement>;
};

export function scriptedJudge(answer: ScriptedJudge['answer'] = 'same'): ScriptedJudge {
  const judge: ScriptedJudge = {
    model: 'scripted',
    asked: [],
    answer,
    async ask(a, b) {
      judge.asked.push([a, b]);
      return await judge.answer;
    },
  };
  return judge;
}
