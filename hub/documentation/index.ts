export { type Documentation, createDocumentation, documentationKind } from './documentation.ts';
export type { DocumentationModels } from './model/describe-modules.ts';
export { documentationRequest, parseDocumentationRequest } from './request.ts';
