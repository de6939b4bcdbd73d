/** Result of the comparison of two requests by their words. `why` quotes words of the requests. */
export type Explanation = {
  /** `alike`: all differences are explained. `roles`: the same words have different roles. */
  readonly kind: 'alike' | 'roles' | 'unexplained';
  readonly why: string;
};

const maxQuoted = 6;

/** Formats at most `maxQuoted` words, each in quotation marks. */
export const quoted = (items: readonly string[]) =>
  items
    .slice(0, maxQuoted)
    .map(item => `“${item}”`)
    .join(', ') || 'nothing';
