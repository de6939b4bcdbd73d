import type { CodeModule } from '../project/project-types.ts';
import { faultOfMermaid } from './check-mermaid.ts';
import { compareText } from '../project/modules.ts';

const minEdges = 5;
const maxNodes = 24;
const maxEdges = 40;

type Edge = { readonly from: string; readonly to: string; readonly files: number };

/** Drawing of the dependencies between groups of modules. */
type Drawing = {
  readonly text: string;
  readonly groups: readonly string[];
  /** Groups that most other groups use. If there are too many arrows, those to these groups are omitted first. */
  readonly common: readonly string[];
  /** Number of other arrows that are omitted. */
  readonly omittedEdges: number;
};

/** Draws the modules, or their parent folders if there are too many. Returns undefined if there are no dependencies. */
export function drawModules(given: readonly CodeModule[]): Drawing | undefined {
  const modules = given.filter(({ isTests }) => !isTests);
  const depth = depthFor(modules);
  const isDrawn = new Set(modules.map(({ folder }) => folder));
  const weights = new Map<string, Edge>();
  for (const { folder, uses } of modules)
    for (const [target, files] of uses) {
      const [from, to] = [groupOf(folder, depth), groupOf(target, depth)];
      if (from === to || !isDrawn.has(target)) continue;
      const key = `${from}\n${to}`;
      weights.set(key, { from, to, files: (weights.get(key)?.files ?? 0) + files.length });
    }
  const all = [...weights.values()];
  const common = all.length > maxEdges ? commonOf(all) : new Set<string>();
  const strongest = all
    .filter(({ to }) => !common.has(to))
    .toSorted((a, b) => b.files - a.files || compareEnds(a, b));
  const shown = new Set<string>();
  for (const { from, to } of strongest.slice(0, maxEdges))
    for (const group of [from, to]) if (shown.size < maxNodes) shown.add(group);
  const edges = strongest
    .filter(({ from, to }) => shown.has(from) && shown.has(to))
    .slice(0, maxEdges)
    .toSorted(compareEnds);
  const groups = [...shown].toSorted(compareText);
  const ids = new Map(groups.map((group, at) => [group, `m${at}`]));
  const arrows = edges.flatMap(({ from, to }) => {
    const [source, target] = [ids.get(from), ids.get(to)];
    return source !== undefined && target !== undefined ? [`  ${source} --> ${target}`] : [];
  });
  if (arrows.length === 0) return undefined;
  const nodes = groups.map(group => `  ${ids.get(group)}["${labelOf(group)}"]`);
  const text = ['flowchart LR', ...nodes, ...arrows].join('\n');
  // Mermaid would show an error message in the note, so omit an invalid drawing.
  if (faultOfMermaid(text) !== undefined) return undefined;
  return {
    text,
    groups,
    common: [...common].toSorted(compareText),
    omittedEdges: strongest.length - arrows.length,
  };
}

const groupOf = (folder: string, depth: number) => folder.split('/').slice(0, depth).join('/');

const compareEnds = (a: Edge, b: Edge) => compareText(a.from, b.from) || compareText(a.to, b.to);

/** Returns the groups that more than half of the others use; none if hardly any arrows would be left without them. */
function commonOf(edges: readonly Edge[]): ReadonlySet<string> {
  const others = new Set(edges.flatMap(({ from, to }) => [from, to])).size - 1;
  const users = Map.groupBy(edges, ({ to }) => to);
  const common = new Set([...users].flatMap(([to, of]) => (of.length > others / 2 ? [to] : [])));
  return edges.filter(({ to }) => !common.has(to)).length < minEdges ? new Set() : common;
}

/**
 * Returns the highest number of path parts with few enough groups to draw. It is higher if these groups hardly use each
 * other, such as if all code is in one top folder.
 */
function depthFor(modules: readonly CodeModule[]): number {
  const deepest = Math.max(1, ...modules.map(({ folder }) => folder.split('/').length));
  const groupsAt = (depth: number) =>
    new Set(modules.map(({ folder }) => groupOf(folder, depth))).size;
  const edgesAt = (depth: number) =>
    new Set(
      modules.flatMap(({ folder, uses }) =>
        [...uses.keys()]
          .map(target => [groupOf(folder, depth), groupOf(target, depth)])
          .filter(([from, to]) => from !== to)
          .map(ends => ends.join('\n')),
      ),
    ).size;
  let depth = deepest;
  while (depth > 1 && groupsAt(depth) > maxNodes) depth--;
  while (depth < deepest && edgesAt(depth) < minEdges) depth++;
  return depth;
}

/** Returns a label without special characters, which Mermaid would require to be written like `#quot;`. */
const labelOf = (group: string) =>
  (group === '.' ? 'top folder' : group).replaceAll(/["`<>#&]/g, '-').slice(0, 80);
