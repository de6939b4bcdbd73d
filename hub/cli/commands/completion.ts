import type { Command } from '../command.ts';
import { completionScripts } from '../completion-scripts.ts';
import { HubError } from '#core';
import { findClosest } from '#config';
import { wordOf } from '../values.ts';

const shells = [...completionScripts.keys()];

/** `agenthub completion`: prints the completion script of a shell. */
export function createCompletion(): Command {
  return {
    name: 'completion',
    summary: 'Print a script that completes commands, servers and tools in bash, zsh or fish.',
    positionals: [{ name: 'shell', help: `${shells.join(', ')}.`, completion: shells }],
    options: {},
    details: [
      'The script calls "agenthub", which asks the running hub for its servers and tools. It never needs to be updated.',
    ],
    examples: [
      ['completion bash >> ~/.bashrc', 'bash'],
      ['completion zsh >> ~/.zshrc', 'zsh, behind its compinit'],
      ['completion fish > ~/.config/fish/completions/agenthub.fish', 'fish'],
    ],
    async run(values, { out }) {
      const shell = wordOf(values, 'shell');
      const script = completionScripts.get(shell);
      if (script === undefined) {
        const meant = findClosest(shell, shells);
        throw new HubError(
          'HUB_USAGE',
          `${JSON.stringify(shell)} is not a supported shell: write ${shells.join(', ')}${meant === undefined ? '' : `. Did you mean ${JSON.stringify(meant)}?`}`,
        );
      }
      out(script.trimEnd());
      return 0;
    },
  };
}
