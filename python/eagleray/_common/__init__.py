"""The part of ``ray._common`` that programs outside Ray use, and the helpers of Ray's own tests."""
