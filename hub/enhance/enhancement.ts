import type { Attempt } from './chain.ts';

/** A prompt as it came, and whose it is. */
export type EnhanceRequest = {
  readonly prompt: string;
  /** What the client calls itself; undefined counts as `default`. */
  readonly client?: string | undefined;
  /** True: no cache is looked into, and nothing is kept. */
  readonly bypass?: boolean | undefined;
};

/** What became of a prompt. */
export type Enhancement = {
  /** What was made of it, or the prompt as it came, to the letter. */
  readonly prompt: string;
  readonly enhanced: boolean;
  /** `fallback`: a model of the chain. `unchanged`: nothing gave a prompt. `disabled`: the rule wants none. */
  readonly source: 'model' | 'l1' | 'l2' | 'fallback' | 'unchanged' | 'disabled';
  readonly cache: 'hit_l1' | 'hit_l2' | 'miss' | 'bypass' | 'disabled';
  readonly client: string;
  /** The client that the rule is for, or `default`. */
  readonly rule: string;
  /** The model that wrote it. */
  readonly model?: string;
  /** How alike the prompts are, where it was made for another one. */
  readonly similarity?: number;
  /** For how long it has been kept. */
  readonly ageMs?: number;
  /** Why it is unchanged, or why no cache was used. */
  readonly reason?: string;
  /** The models that gave nothing, in order. */
  readonly attempts: readonly Attempt[];
  readonly tookMs: number;
};
