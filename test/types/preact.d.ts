// The types of @auth/core import those of preact, which add the whole DOM to the program, as those of graphql-yoga do.
export declare namespace JSX {
  type Element = object
  interface IntrinsicElements {
    readonly input: object
  }
}
