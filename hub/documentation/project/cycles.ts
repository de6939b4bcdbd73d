import type { CodeModule } from './project-types.ts';

/** Finds groups of modules with circular dependencies: the strongly connected components, by Tarjan's algorithm. */
export function findCycles(modules: readonly CodeModule[]): readonly (readonly string[])[] {
  const byFolder = new Map(modules.map(module => [module.folder, module]));
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  const found: string[][] = [];
  const lower = (folder: string, value: number) =>
    lowest.set(folder, Math.min(lowest.get(folder) ?? Infinity, value));

  function enter(folder: string) {
    order.set(folder, order.size);
    lower(folder, order.size - 1);
    open.push(folder);
    isOpen.add(folder);
    return { folder, targets: [...(byFolder.get(folder)?.uses.keys() ?? [])] };
  }

  // Not recursive, because a chain of imports may exceed the call stack.
  for (const { folder: start } of modules) {
    if (order.has(start)) continue;
    const path = [enter(start)];
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const target = top.targets.pop();
      if (target !== undefined) {
        if (!order.has(target) && byFolder.has(target)) path.push(enter(target));
        else if (isOpen.has(target)) lower(top.folder, order.get(target) ?? Infinity);
        continue;
      }
      path.pop();
      const low = lowest.get(top.folder) ?? 0;
      const parent = path.at(-1);
      if (parent) lower(parent.folder, low);
      if (low !== order.get(top.folder)) continue;
      const group = open.splice(open.indexOf(top.folder));
      for (const folder of group) isOpen.delete(folder);
      if (group.length > 1) found.push(group.toSorted());
    }
  }
  return found.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
