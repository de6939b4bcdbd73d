const [zero, point] = [0x30, 0x2e];
/** ASCII digits of the numbers below 1,000, three each: looking three digits up is faster than a division for each. */
const threeDigits = Uint8Array.from({ length: 3_000 }, (_, index) => {
  const divisor = [100, 10, 1][index % 3] ?? 1;
  return zero + (Math.trunc(Math.trunc(index / 3) / divisor) % 10);
});

/** Writes a non-negative integer in ASCII, and returns the position after it. */
export function writeWhole(to: Buffer, at: number, value: number): number {
  if (value >= 1_000) {
    const high = Math.floor(value / 1_000);
    return writeThree(to, writeWhole(to, at, high), value - high * 1_000);
  }
  const digits = value < 10 ? 1 : value < 100 ? 2 : 3;
  for (let index = 0; index < digits; index++)
    to[at + index] = threeDigits[value * 3 + 3 - digits + index] ?? zero;
  return at + digits;
}

/** Writes an integer below 1,000 with three digits, and returns the position after them. */
export function writeThree(to: Buffer, at: number, value: number): number {
  to[at] = threeDigits[value * 3] ?? zero;
  to[at + 1] = threeDigits[value * 3 + 1] ?? zero;
  to[at + 2] = threeDigits[value * 3 + 2] ?? zero;
  return at + 3;
}

/** Writes non-negative milliseconds with three decimals, and returns the position after them. */
export function writeMilliseconds(to: Buffer, at: number, value: number): number {
  const thousandths = Math.round(value * 1000);
  const whole = Math.floor(thousandths / 1000);
  const end = writeWhole(to, at, whole);
  to[end] = point;
  return writeThree(to, end + 1, thousandths - whole * 1000);
}

/** Copies a few bytes, which is faster than a call of `set`. Returns the position after them. */
export function writeShort(to: Buffer, at: number, bytes: Buffer): number {
  for (let index = 0; index < bytes.length; index++) to[at + index] = bytes[index] ?? 0;
  return at + bytes.length;
}
