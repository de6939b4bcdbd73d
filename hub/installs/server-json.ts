import { z } from 'zod';

export const text = z.string().max(65_536);

const input = z.object({
  description: text.optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  format: z.string().optional(),
  value: text.optional(),
  default: text.optional(),
  placeholder: text.optional(),
  choices: z.array(text).readonly().optional(),
});
const inputWithVariables = input.extend({
  variables: z.record(z.string(), input).optional(),
});
const namedInput = inputWithVariables.extend({ name: z.string().min(1) });
const argument = inputWithVariables.extend({
  type: z.enum(['positional', 'named']),
  name: z.string().min(1).optional(),
  valueHint: z.string().min(1).optional(),
  isRepeated: z.boolean().optional(),
});
const transport = z.object({
  type: z.string(),
  url: text.optional(),
  headers: z.array(namedInput).max(100).optional(),
  variables: z.record(z.string(), input).optional(),
});
const packaged = z.object({
  registryType: z.string(),
  registryBaseUrl: text.optional(),
  identifier: z.string().min(1),
  version: z.string().min(1).optional(),
  fileSha256: z.string().optional(),
  runtimeHint: z.string().optional(),
  transport: transport.optional(),
  runtimeArguments: z.array(argument).max(100).optional(),
  packageArguments: z.array(argument).max(100).optional(),
  environmentVariables: z.array(namedInput).max(100).optional(),
});
/** The server.json of the official registry. Unknown keys are ignored: publishers add some, and the schema grows. */
export const serverJson = z.object({
  name: z.string().min(1),
  title: text.optional(),
  description: text.optional(),
  version: text.optional(),
  packages: z.array(packaged).max(50).optional(),
  remotes: z.array(transport).max(50).optional(),
});

export type ServerJson = z.output<typeof serverJson>;
export type ServerPackage = z.output<typeof packaged>;
export type ServerTransport = z.output<typeof transport>;
/** An input of a server: fixed by its publisher, perhaps with `{name}` placeholders, or left to the user. */
export type Input = z.output<typeof inputWithVariables>;
export type NamedInput = z.output<typeof namedInput>;
export type Argument = z.output<typeof argument>;
