import { z } from 'zod';
import { describeKeys, matching, text } from './schema-parts.ts';

const fingerprint = matching(
  /^(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}$/i,
  'write the SHA-256 fingerprint of the certificate: 64 hex digits, with or without colons',
);

export const obsidianSchema = describeKeys(
  z.strictObject({
    url: text.min(1).default('https://127.0.0.1:27124'),
    key: text.min(1),
    certificate: text.min(1).exactOptional(),
    fingerprint: fingerprint.exactOptional(),
  }),
  {
    url: 'Address of the plugin. Default: "https://127.0.0.1:27124".',
    key: 'API key of the plugin, usually "${secret:OBSIDIAN_API_KEY}".',
    certificate:
      'Path of the certificate of the plugin in PEM format, which the plugin offers at /obsidian-local-rest-api.crt. Either this or "fingerprint" is needed, because the plugin signs its certificate itself.',
    fingerprint: 'SHA-256 fingerprint of the certificate of the plugin, instead of "certificate".',
  },
);

export const documentationSchema = describeKeys(
  z.strictObject({
    vault: text.min(1).exactOptional(),
    obsidian: obsidianSchema.exactOptional(),
    max_files: z.int().min(1).max(50_000).default(10_000),
    max_megabytes: z.int().min(1).max(1_024).default(64),
    // Timers run for 24.8 days at most.
    max_hours: z.number().positive().max(500).default(24),
  }),
  {
    vault: 'Absolute path of the Obsidian vault for requests that name none.',
    obsidian:
      'The Local REST API plugin of Obsidian, for requests with the vault "obsidian", and for those that name none if "vault" is not set.',
    max_files: 'Maximum number of files of a repository that are read. Default: 10000.',
    max_megabytes: 'Maximum size of these files in MB. Default: 64.',
    max_hours: 'Maximum duration of a run in hours. Default: 24.',
  },
);
