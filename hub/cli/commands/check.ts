import { type Config, type ServerConfig, warningsOf } from '#config';
import type { Command } from '../command.ts';
import { columns } from '../help.ts';
import { asJson, jsonOption, textOf } from '../values.ts';

/** A config and its file. */
export type Checked = {
  readonly file: string;
  readonly config: Config;
  /** The missing file, if the config shipped with AgentHub is used instead of it. */
  readonly insteadOf?: string;
};

export type CheckNeeds = {
  /** Reads settings and config without starting anything. Throws HubError. */
  readonly loadConfig: (configFile: string | undefined) => Promise<Checked>;
};

/** `agenthub check`: reports problems of the config, or summarizes it. */
export function createCheck({ loadConfig }: CheckNeeds): Command {
  return {
    name: 'check',
    summary: 'Check the config and the settings without starting anything.',
    options: {
      config: {
        type: 'string',
        placeholder: 'file',
        completion: 'file',
        help: 'The file to check. Default: MCP_SERVERS_CONFIG, or configs/mcp-servers.json.',
      },
      ...jsonOption,
    },
    details: [
      'If something is wrong, names file, line, value and remedy, and exits with 2.',
      '--json prints {"file", "servers": [{"name", "runs", "starts"}], "warnings": [...]}; if something is wrong, {"error": {"code", "message"}}.',
    ],
    examples: [
      ['check', 'Check the config that the hub would read'],
      ['check --config hub.yaml', 'Check another file'],
    ],
    async run(values, { out, err, screen, errorScreen }) {
      const { file, config, insteadOf } = await loadConfig(textOf(values, 'config'));
      const warnings = warningsOf(config);
      if (values['json'] === true) {
        const servers = config.servers.map(server => {
          const [name, runs, starts] = summaryOf(server);
          return { name, runs, starts };
        });
        out(asJson({ file, servers, warnings }));
        return 0;
      }
      const { length } = config.servers;
      const count = `${length} ${length === 1 ? 'server' : 'servers'}`;
      out(`${file}: ${screen.paint('green', 'fine')}, ${count}`);
      for (const line of columns(config.servers.map(summaryOf))) out(line);
      if (insteadOf !== undefined)
        err(
          `${errorScreen.paint('yellow', 'note')}: there is no ${insteadOf} here: this one comes with AgentHub, and is in force until there is one. Write it with "agenthub init"`,
        );
      for (const warning of warnings) err(`${errorScreen.paint('yellow', 'warning')}: ${warning}`);
      return 0;
    },
  };
}

function summaryOf({ name, enabled, autoStart, launch }: ServerConfig): readonly string[] {
  const start = autoStart ? 'starts with the hub' : 'starts at the first call';
  return [name, describeLaunch(launch), enabled ? start : 'disabled'];
}

/** What a server runs, without arguments, environment, headers and URL query, which may be secret. */
function describeLaunch(launch: ServerConfig['launch']): string {
  if (launch.kind === 'remote') return `${launch.transport} ${hostOf(launch.url)}`;
  const place = launch.runtime === 'auto' ? '' : ` (${launch.runtime})`;
  if (launch.package) return `${launch.package.ecosystem} ${launch.package.spec}${place}`;
  return launch.image === undefined
    ? `command ${launch.command}${place}`
    : `image ${launch.image}${place}`;
}

const hostOf = (url: string) => URL.parse(url)?.origin ?? 'elsewhere';
