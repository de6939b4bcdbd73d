/** True in `npm run test:long`, which runs the tests of load at their full length. */
export const isLong = process.env['TEST_LENGTH'] === 'long';

/** The full length in `npm run test:long`, the short one in `npm test`. */
export const byLength = (lengths: { readonly short: number; readonly long: number }): number =>
  isLong ? lengths.long : lengths.short;
