import type { z } from 'zod';
import type { fanOutSchema } from './fan-out-schema.ts';
import type { Problem } from './problem.ts';

/** A tool of the hub that calls several tools with the same arguments. */
export type FanOutConfig = {
  /** Name of the tool on `/mcp`. */
  readonly name: string;
  /** Names of the called tools on `/mcp`. */
  readonly tools: readonly string[];
  readonly merge: 'concat' | 'first' | 'race';
  /** Timeout of the call to each tool, in ms. */
  readonly timeoutMs: number;
  readonly description?: string;
};

type WrittenFanOut = Readonly<Record<string, z.output<typeof fanOutSchema>>>;

/** Converts the fan-out tools of a config file, and reports those that would call another fan-out tool. */
export function readFanOut(written: WrittenFanOut) {
  const problems: Problem[] = [];
  const fanOut = Object.entries(written).map(
    ([name, { tools, timeout, ...rest }]): FanOutConfig => {
      const text = 'is a fan-out tool itself: write tools of servers';
      for (const [index, tool] of tools.entries())
        if (Object.hasOwn(written, tool))
          problems.push({ path: ['fan_out', name, 'tools', index], text, showsValue: true });
      return { ...rest, name, tools: [...new Set(tools)], timeoutMs: timeout * 1000 };
    },
  );
  return { fanOut, problems };
}
