"""A graph of ONNX operators, written one call after the other."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from polyfold._validation import import_extra

if TYPE_CHECKING:
    import onnx

OPSET = 17  # of 2022: every runtime in use reads it
IR_VERSION = 8


class Graph:
    """Operators on one input ``X`` of single-precision rows; computes in `dtype`."""

    def __init__(self, n_features: int):
        self.onnx = import_extra("onnx", "onnx")
        self.helper = import_extra("onnx.helper", "onnx")
        self.dtype: DTypeLike = np.float32
        self.n_features = n_features
        self.scalings: list[tuple[ArrayLike | None, ArrayLike | None]] = []
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def add(self, operator: str, *inputs: ArrayLike, **attributes: Any) -> str:
        """Append an operator on names of results, or arrays, and return the name of its result."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(self.helper.make_node(operator, names, [name], **attributes))
        return name

    def constant(self, value: ArrayLike) -> str:
        """Append an array, floats in the precision at work, and return its name."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        name = f"constant_{len(self.constants)}"
        if array.dtype.kind in "US":
            texts = [str(text).encode() for text in array.ravel()]
            tensor = self.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self.constants.append(tensor)
        return name

    def input(self, dtype: DTypeLike = np.float32) -> str:
        """Return the name of the rows, scaled, in the precision to work in from here on."""
        self.dtype = dtype
        rows = "X" if dtype == np.float32 else self.cast("X", dtype)
        for shift, scale in self.scalings:
            moved = rows if shift is None else self.minus(rows, np.asarray(shift))
            rows = moved if scale is None else self.add("Div", moved, np.asarray(scale))
        return rows

    def scale_input(self, shift: ArrayLike | None, scale: ArrayLike | None) -> None:
        """Let everything see the rows as (x - shift) / scale; None leaves a part out."""
        self.scalings.append((shift, scale))

    def minus(self, name: str, origin: np.ndarray) -> str:
        """Append x - origin to the digits of double precision: what single precision lacks is taken off as well."""
        high = origin.astype(self.dtype).astype(np.float64)
        moved, low = self.add("Sub", name, high), origin - high
        return self.add("Sub", moved, low) if np.any(low) else moved

    def cast(self, name: str, dtype: DTypeLike) -> str:
        """Append a change of type."""
        return self.add("Cast", name, to=self._type(dtype))

    def total(self, name: str) -> str:
        """Append the sum of every row, as a column."""
        return self.add("ReduceSum", name, np.array([1]), keepdims=1)

    def linear(self, name: str, weights: np.ndarray, offset: ArrayLike = 0.0) -> str:
        """Append a product with weights, and an offset."""
        product = self.add("MatMul", name, weights)
        return self.add("Add", product, offset) if np.any(offset) else product

    def output(self, name: str, result: str, dtype: DTypeLike, width: int | None) -> None:
        """Call a result an output; `width` is its number of columns, None for one value per row."""
        self.nodes.append(self.helper.make_node("Identity", [result], [name]))
        shape = ["n"] if width is None else ["n", width]
        self.outputs.append(self.helper.make_tensor_value_info(name, self._type(dtype), shape))

    def body(self, argument: str, result: str, start: int) -> "onnx.GraphProto":
        """Cut off the operators from number `start` on: the body of a loop from an argument to a result."""
        nodes, self.nodes = self.nodes[start:], self.nodes[:start]
        kind = self._type(self.dtype)
        return self.helper.make_graph(
            nodes,
            "body",
            [self.helper.make_tensor_value_info(argument, kind, None)],
            [self.helper.make_tensor_value_info(result, kind, None)],
        )

    def model(self, about: dict[str, str]) -> "onnx.ModelProto":
        """Return the checked model."""
        rows = self.helper.make_tensor_value_info("X", self._type(np.float32), ["n", self.n_features])
        graph = self.helper.make_graph(self.nodes, "polyfold", [rows], self.outputs, self.constants)
        opsets = [self.helper.make_opsetid("", OPSET)]
        model = self.helper.make_model(graph, producer_name="polyfold", ir_version=IR_VERSION, opset_imports=opsets)
        self.helper.set_model_props(model, about)
        import_extra("onnx.checker", "onnx").check_model(model, full_check=True)
        return model

    def _type(self, dtype: DTypeLike) -> int:
        if np.dtype(dtype).kind in "US":
            return self.onnx.TensorProto.STRING
        return self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
