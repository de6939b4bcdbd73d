import { visible } from '#definitions';
import { type Described, objectsIn } from './responses.ts';
import type { Io } from './terminal.ts';

type Printer = Pick<Io, 'out' | 'screen'>;

/** Makes invisible characters visible. The hub already does this, except in names; an older hub might not. */
export const shown = (value: unknown) => visible(String(value));

/** Prints the definitions that a person should check, with the reasons. */
export function tellFlags(flags: unknown, { out, screen }: Printer): void {
  for (const { kind, name, text } of objectsIn(flags))
    out(`  ${screen.paint('yellow', 'look')} ${String(kind)} ${shown(name)} ${shown(text)}`);
}

/** Prints lines of a difference: added ones in green, removed ones in red. */
export function tellDiff(
  lines: readonly Described[],
  indent: string,
  { out, screen }: Printer,
): void {
  for (const { sign, text } of lines) {
    const line = `${indent}${String(sign)} ${shown(text)}`;
    if (sign === '+') out(screen.paint('green', line));
    else out(sign === '-' ? screen.paint('red', line) : line);
  }
}
