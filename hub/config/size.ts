/** A size as Docker writes it: digits, maybe with a fraction, and a unit of 1024. */
export const sizePattern = /^(\d{1,15}(?:\.\d{1,3})?)(?:([kKmMgGtT])(?:i?[bB])?|[bB])?$/;

const factors = new Map([
  ['k', 1024],
  ['m', 1024 ** 2],
  ['g', 1024 ** 3],
  ['t', 1024 ** 4],
]);

/** `"512m"` or a number of bytes to whole bytes. The text matches `sizePattern`. */
export function bytesOf(size: string | number): number {
  if (typeof size === 'number') return size;
  const [, digits, unit = ''] = sizePattern.exec(size) ?? [];
  return Math.floor(Number(digits) * (factors.get(unit.toLowerCase()) ?? 1));
}
