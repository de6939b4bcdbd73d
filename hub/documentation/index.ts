export {
  type Documentation,
  type DocumentationNeeds,
  createDocumentation,
  documentationKind,
} from './documentation.ts';
export type { DocumentationModels } from './model/describe-modules.ts';
export { documentationRequest, parseDocumentationRequest } from './request.ts';
export { createPinnedHttps } from './vault/pinned-https.ts';
export { openFolderVault } from './vault/folder-vault.ts';
export { openRestVault } from './vault/rest-vault.ts';
