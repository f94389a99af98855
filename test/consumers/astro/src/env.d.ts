declare namespace App {
  interface Locals {
    /** The payload of the visitor's token, or `null` without a valid one. */
    visitor: import('tokenlib').TokenPayload | null
  }
}
