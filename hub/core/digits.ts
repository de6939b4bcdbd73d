const [zero, point] = [0x30, 0x2e];
/** The digits of each number below 1,000: a division for each digit takes longer than to look three of them up. */
const threeDigits = Uint8Array.from({ length: 3_000 }, (_, index) => {
  const divisor = [100, 10, 1][index % 3] ?? 1;
  return zero + (Math.trunc(Math.trunc(index / 3) / divisor) % 10);
});

/** Writes a whole number that is not negative, and returns the position after it. */
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

/** Writes a whole number below 1,000 with three digits, and returns the position after them. */
export function writeThree(to: Buffer, at: number, value: number): number {
  to[at] = threeDigits[value * 3] ?? zero;
  to[at + 1] = threeDigits[value * 3 + 1] ?? zero;
  to[at + 2] = threeDigits[value * 3 + 2] ?? zero;
  return at + 3;
}

/** Writes milliseconds that are not negative with three decimals, and returns the position after them. */
export function writeMilliseconds(to: Buffer, at: number, value: number): number {
  const thousandths = Math.round(value * 1000);
  const whole = Math.floor(thousandths / 1000);
  const end = writeWhole(to, at, whole);
  to[end] = point;
  return writeThree(to, end + 1, thousandths - whole * 1000);
}

/** Copies a few bytes, which takes less than to call `set`. Returns the position after them. */
export function writeShort(to: Buffer, at: number, bytes: Buffer): number {
  for (let index = 0; index < bytes.length; index++) to[at + index] = bytes[index] ?? 0;
  return at + bytes.length;
}
