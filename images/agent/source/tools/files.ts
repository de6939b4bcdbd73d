import { z } from 'zod';
import { defineTool } from './tool.ts';
import { ToolError, listFolder, readText, workspace, writeText } from './workspace.ts';

const path = z.string().min(1).describe(`Path in ${workspace}.`);

const fileRead = defineTool(
  'file_read',
  'Reads a text file, or lists a folder.',
  z.strictObject({ path }),
  async ({ path: given }) => {
    const entries = await listFolder(given);
    return entries ? entries.join('\n') || '(empty folder)' : await readText(given);
  },
);

const fileWrite = defineTool(
  'file_write',
  'Writes a text file, and creates it and its folders. Replaces what the file contained.',
  z.strictObject({ path, content: z.string() }),
  async ({ path: given, content }) => {
    await writeText(given, content);
    return `wrote ${Buffer.byteLength(content)} bytes to ${given}`;
  },
);

const editor = defineTool(
  'editor',
  'Views a text file with line numbers, creates one, replaces a text that occurs once, or inserts lines.',
  z.strictObject({
    command: z.enum(['view', 'create', 'str_replace', 'insert']),
    path,
    content: z.string().optional().describe('For create: the whole text.'),
    old_str: z.string().optional().describe('For str_replace: must occur exactly once.'),
    new_str: z.string().optional().describe('For str_replace and insert.'),
    insert_line: z
      .int()
      .min(0)
      .optional()
      .describe('For insert: after this line; 0 for the start.'),
  }),
  async input => {
    const { command, path: given } = input;
    const need = (member: 'content' | 'old_str' | 'new_str') => {
      const text = input[member];
      if (text === undefined) throw new ToolError(`${member}: is missing: ${command} needs it`);
      return text;
    };
    if (command === 'create') {
      await writeText(given, need('content'));
      return `created ${given}`;
    }
    const text = await readText(given);
    const lines = text.split('\n');
    if (command === 'view')
      return lines.map((line, index) => `${String(index + 1).padStart(6)}\t${line}`).join('\n');
    if (command === 'insert') {
      const { insert_line: at } = input;
      if (at === undefined || at > lines.length)
        throw new ToolError(
          `insert_line: ${at} is not allowed: write a number from 0 to ${lines.length}`,
        );
      await writeText(given, lines.toSpliced(at, 0, need('new_str')).join('\n'));
      return `inserted after line ${at} of ${given}`;
    }
    const old = need('old_str');
    const found = old === '' ? 0 : text.split(old).length - 1;
    if (found !== 1)
      throw new ToolError(
        `old_str: occurs ${found} times in ${given}: give a text that occurs exactly once, with more lines around it`,
      );
    await writeText(
      given,
      text.replace(old, () => need('new_str')),
    );
    return `replaced it in ${given}`;
  },
);

export const fileTools = [fileRead, fileWrite, editor];
