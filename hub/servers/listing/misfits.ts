import { type Fault, refusingRevisions } from './item-faults.ts';
import { type Item, type ListKind, listMethods } from './listing.ts';

/** An item that the lists on `/mcp` leave out for clients of some revisions. */
export type Misfit = {
  /** Its list: `tools`, `resources`, `resourceTemplates` or `prompts`. */
  readonly list: string;
  /** The name or URI; undefined for all nameless entries of a list together. */
  readonly name: string | undefined;
  /** Its faults, as sentences. */
  readonly why: readonly string[];
  /** MCP revisions whose schema refuses it. */
  readonly revisions: readonly string[];
};

/** The items of a list that are left out for some clients, and its nameless entries. */
export function misfitsOf(
  kind: ListKind,
  items: readonly Item[],
  nameless: number,
): readonly Misfit[] {
  const { member, key } = listMethods[kind];
  const misfits = items.flatMap(({ key: name, faults }) =>
    faults ? [misfitOf(member, name, faults)] : [],
  );
  return nameless === 0
    ? misfits
    : [
        ...misfits,
        {
          list: member,
          name: undefined,
          why: [`${nameless} ${nameless === 1 ? 'has' : 'have'} no ${key}`],
          revisions: refusingRevisions('all'),
        },
      ];
}

const misfitOf = (list: string, name: string, faults: readonly Fault[]): Misfit => ({
  list,
  name,
  why: faults.map(({ text }) => text),
  revisions: refusingRevisions(faults),
});

/** Maximum number of misfits named per server; the others are counted. */
export const maxNamed = 100;

/** The misfits for the API and the log. */
export const leftOutOf = (misfits: readonly Misfit[]) => ({
  left_out: misfits.slice(0, maxNamed).map(({ list, name, why, revisions }) => ({
    list,
    ...(name !== undefined && { name }),
    why: [...why],
    revisions: [...revisions],
  })),
  ...(misfits.length > maxNamed && { left_out_besides: misfits.length - maxNamed }),
});

/** A misfit as text, such as `tools "x": description is null; it must be a string`. */
export const describeMisfit = ({ list, name, why }: Misfit): string =>
  `${list}${name === undefined ? '' : ` ${JSON.stringify(name)}`}: ${why.join(', ')}`;
