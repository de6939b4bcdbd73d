import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmitter } from '#core';
import { type DefinitionPins, createDefinitions, createPins } from '#definitions';
import { createManualClock } from '#helpers/clock';
import { type Fixture, configOf } from '#helpers/hub';
import { createRecordingLog } from '#helpers/recording-log';
import { redactText } from '#telemetry';

type Said = Readonly<Record<string, string>>;

const noPrompts: readonly [] = [];

const toolsOf = (said: Said) =>
  Object.entries(said).map(([key, description]) => ({
    key,
    bytes: Buffer.from(JSON.stringify({ name: key, description })),
  }));

/**
 * Creates the pins of servers whose tools the test sets, by name with descriptions. All tools are pinned at the start.
 */
export async function openTestPins(servers: readonly (readonly [fixture: Fixture, said: Said])[]) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-pins-'));
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const recorded: string[] = [];
  const definitions = createDefinitions(join(folder, 'hub.lock.json'), {
    clock,
    log,
    record: ({ action, server }) => void recorded.push(`${action} ${server}`),
  });
  await definitions.load();
  const listed = createEmitter<string>();
  const changed = createEmitter<undefined>();
  const offered = servers.map(([fixture, said]) => {
    const state: { tool: ReturnType<typeof toolsOf>; instructions: string | undefined } = {
      tool: toolsOf(said),
      instructions: undefined,
    };
    const config = configOf({ pinning: 'hide', ...fixture });
    definitions.seen(config, { ...state, prompt: [] });
    return {
      config,
      listed: listed.event,
      get listing() {
        return { tool: state.tool, prompt: noPrompts };
      },
      get running() {
        return { serverInfo: { instructions: state.instructions } };
      },
      state,
    };
  });
  clock.advance(11_000);
  let configured = offered.map(({ config }) => config.name);
  const pins: DefinitionPins = createPins({
    definitions,
    servers: { all: offered, changed: changed.event },
    configured: () => configured,
    clock,
    log,
    redact: redactText,
  });
  return {
    pins,
    definitions,
    clock,
    logged,
    recorded,
    server: (name: string) =>
      offered.find(({ config }) => config.name === name) ?? assert.fail(name),
    /** Changes the tools and instructions that a server lists. */
    say(name: string, said: Said, instructions?: string): void {
      const server = offered.find(({ config }) => config.name === name);
      if (server) Object.assign(server.state, { tool: toolsOf(said), instructions });
      listed.fire('tool');
    },
    /** Records the current lists of a server again, as after a restart. */
    see(name: string): void {
      const server = offered.find(({ config }) => config.name === name);
      if (server) definitions.seen(server.config, { ...server.state, prompt: [] });
    },
    /** Removes all other servers from the config. */
    configure(...names: readonly string[]): void {
      configured = [...names];
      const left = offered.filter(({ config }) => names.includes(config.name));
      offered.splice(0, offered.length, ...left);
      changed.fire(undefined);
    },
    async [Symbol.asyncDispose]() {
      pins[Symbol.dispose]();
      await definitions.written();
      await rm(folder, { recursive: true });
    },
  };
}
