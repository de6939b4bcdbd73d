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
    summary: 'Print the script by which bash, zsh or fish completes commands, servers and tools.',
    positionals: [{ name: 'shell', help: `${shells.join(', ')}.`, completion: shells }],
    options: {},
    details: [
      'The script asks "agenthub" itself, which asks the hub that runs for its servers and tools: there is nothing to be renewed.',
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
          `${JSON.stringify(shell)} is no shell that can be completed: write ${shells.join(', ')}${meant === undefined ? '' : `. Did you mean ${JSON.stringify(meant)}?`}`,
        );
      }
      out(script.trimEnd());
      return 0;
    },
  };
}
