const zero = 0x30;
/** Numbers below it are divided as 32-bit integers. */
const billion = 1_000_000_000;

/** Writes a whole number that is not negative, and returns the position after it. */
export function writeWhole(to: Buffer, at: number, value: number): number {
  if (value >= billion) {
    const high = Math.floor(value / billion);
    return writeDigits(to, writeWhole(to, at, high), value - high * billion, 9);
  }
  let digits = 1;
  for (let bound = 10; bound <= value; bound *= 10) digits++;
  return writeDigits(to, at, value, digits);
}

/** Copies a few bytes, which takes less than to call `set`. Returns the position after them. */
export function writeShort(to: Buffer, at: number, bytes: Buffer): number {
  for (let index = 0; index < bytes.length; index++) to[at + index] = bytes[index] ?? 0;
  return at + bytes.length;
}

/** Writes the last digits of a number below one billion, and returns the position after them. */
export function writeDigits(to: Buffer, at: number, value: number, digits: number): number {
  let rest = Math.trunc(value);
  for (let position = at + digits - 1; position >= at; position--) {
    const next = Math.trunc(rest / 10);
    to[position] = zero + rest - next * 10;
    rest = next;
  }
  return at + digits;
}
