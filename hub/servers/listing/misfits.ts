import { type Fault, refusingRevisions } from './item-faults.ts';
import { type Item, type ListKind, listMethods } from './listing.ts';

/** Something that a server offers and that clients of some revisions are not listed among all servers' items. */
export type Misfit = {
  /** The list it is in: `tools`, `resources`, `resourceTemplates` or `prompts`. */
  readonly list: string;
  /** The name or the URI. Undefined for all of a list that have none. */
  readonly name: string | undefined;
  /** What is wrong with it. */
  readonly why: readonly string[];
  /** The revisions of MCP whose schema refuses it. */
  readonly revisions: readonly string[];
};

/** The items of a list that are left out for some clients, and those that nobody can use without a name. */
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

/** More of a server are counted, and not named. */
export const maxNamed = 100;

/** For the API and the log. */
export const leftOutOf = (misfits: readonly Misfit[]) => ({
  left_out: misfits.slice(0, maxNamed).map(({ list, name, why, revisions }) => ({
    list,
    ...(name !== undefined && { name }),
    why: [...why],
    revisions: [...revisions],
  })),
  ...(misfits.length > maxNamed && { left_out_besides: misfits.length - maxNamed }),
});

/** One of them for people, such as `tools "x": description is null; it must be a string`. */
export const describeMisfit = ({ list, name, why }: Misfit): string =>
  `${list}${name === undefined ? '' : ` ${JSON.stringify(name)}`}: ${why.join(', ')}`;
