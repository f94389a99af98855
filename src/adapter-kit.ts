export { isTokenError } from './errors.js'
export {
  assertErrorOptions,
  type ErrorResponse,
  type ErrorResponseOptions,
  toErrorResponse,
  toFetchErrorResponse,
} from './http/error-response.js'
export {
  type Answering,
  callDependency,
  createEnforcer,
  createInjector,
  type Dependencies,
  type Dependency,
  type DependencyValues,
  type Enforcer,
  type HeaderReader,
  type Injector,
  type NamedDependencies,
  requiredTokenType,
} from './manager/dependencies.js'
export { isForm, isJson, parseBody } from './request/body.js'
export { FetchView, readFetchHeader } from './request/fetch-view.js'
export {
  type NodeRequest,
  NodeView,
  readSingleHeader,
  toWrappedView,
  type WrappedRequest,
} from './request/node-view.js'
export { type RequestSource, toRequestView } from './request/request-source.js'
export { attach, mayHaveBody, readAttached, rememberView, type RequestView } from './request/view.js'
