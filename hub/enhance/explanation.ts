/** What the words of two requests have to do with each other. `why` quotes words. */
export type Explanation = {
  /** `alike`: all differences are explained. `roles`: the same words do other things to each other. */
  readonly kind: 'alike' | 'roles' | 'unexplained';
  readonly why: string;
};

const maxQuoted = 6;

/** At most `maxQuoted` words, each in quotation marks. */
export const quoted = (items: readonly string[]) =>
  items
    .slice(0, maxQuoted)
    .map(item => `“${item}”`)
    .join(', ') || 'nothing';
