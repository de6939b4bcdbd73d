/** Pattern of a size in Docker's syntax: digits, an optional fraction, and a binary unit. */
export const sizePattern = /^(\d{1,15}(?:\.\d{1,3})?)(?:([kKmMgGtT])(?:i?[bB])?|[bB])?$/;

const factors = new Map([
  ['k', 1024],
  ['m', 1024 ** 2],
  ['g', 1024 ** 3],
  ['t', 1024 ** 4],
]);

/** Converts `"512m"` or a number of bytes to whole bytes. The text must match `sizePattern`. */
export function bytesOf(size: string | number): number {
  if (typeof size === 'number') return size;
  const [, digits, unit = ''] = sizePattern.exec(size) ?? [];
  return Math.floor(Number(digits) * (factors.get(unit.toLowerCase()) ?? 1));
}
