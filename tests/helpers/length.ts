/** True in `npm run test:long`, which runs the load tests at full length. */
export const isLong = process.env['TEST_LENGTH'] === 'long';

/** Returns `long` in `npm run test:long`, and `short` in `npm test`. */
export const byLength = (lengths: { readonly short: number; readonly long: number }): number =>
  isLong ? lengths.long : lengths.short;
