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
  type Injector,
  type NamedDependencies,
  requiredTokenType,
} from './manager/dependencies.js'
export { isForm, isJson, parseBody } from './request/body.js'
export { FetchView } from './request/fetch-view.js'
export {
  type NodeRequest,
  NodeView,
  readSingleHeader,
  type WrappedRequest,
  wrappedRequestReader,
} from './request/node-view.js'
export {
  fetchRequestReader,
  nodeRequestReader,
  type RequestSource,
  toRequestView,
} from './request/request-source.js'
export { attach, readAttached, rememberView, type RequestReader, type RequestView } from './request/view.js'
