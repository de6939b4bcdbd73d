import type { Config, PolicyRule, ToolSettings } from '#config';
import { createEmitter } from '#core';
import { type Fixture, configOf } from '#helpers/hub';
import { type AccessSource, createAccessSource } from '#routing';

type Settings = Pick<Config, 'profiles' | 'clients'> & {
  readonly policy?: readonly PolicyRule[];
  /** `tools` settings of servers, by server name. */
  readonly tools?: Readonly<Record<string, Omit<ToolSettings, 'path'>>>;
};

/** Creates the access of a config. `change` replaces the config, as a reload does. */
export function createTestAccess(
  fixtures: readonly Fixture[],
  first: Settings = {},
): { readonly access: AccessSource; readonly change: (next: Settings) => void } {
  type Changed = { readonly before: Config; readonly after: Config };
  const { event, fire } = createEmitter<Changed>();
  const naming = { separator: '_', maxLength: 46 } as const;
  const read = ({ policy, tools = {}, ...views }: Settings): Config => ({
    naming,
    servers: fixtures.map(fixture => {
      const own = tools[fixture.name];
      const path = `servers.${fixture.name}.tools`;
      return configOf({ ...fixture, ...(own && { tools: { path, ...own } }) });
    }),
    ...(policy && { policy }),
    ...views,
  });
  let current = read(first);
  return {
    access: createAccessSource({
      get current() {
        return current;
      },
      changed: event,
    }),
    change(next) {
      const before = current;
      current = read(next);
      fire({ before, after: current });
    },
  };
}
